package syntax_test

import _ "ptc/lang/directive" // whose directives the grammar has
