; Later patterns win.
(identifier) @variable
(line_comment) @comment
(block_comment) @comment
(string) @string
(integer) @number
(float) @number
(quantity) @number
(word) @constant
(boolean) @constant.builtin
(infinity) @constant.builtin
["fn" "let" "return" "for" "in" "if" "else" "like"] @keyword
["and" "or" "not"] @keyword.operator
["import" "as" "config" "module" "model" "optimizer" "train" "layout" "names" "machine" "host" "kernels" "level" "from" "skip" "concat" "param" "state" "decay" "no_decay" "when" "lora" "metrics" "stop"] @keyword
["mesh" "shard" "replicate" "pipeline" "zero" "recompute" "precision" "offload" "forbid" "device" "overlap" "of" "over" "between" "to" "on"] @keyword
["auto" "keep" "allow" "limit" "minimize" "x"] @keyword
["+" "-" "*" "/" "%" "**" "==" "!=" "<" "<=" ">" ">=" "=" "~" "->" ".."] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," "." ":"] @punctuation.delimiter
(module name: (identifier) @type)
(train model: (identifier) @type)
(layout name: (identifier) @namespace)
(mesh_on machine: (identifier) @namespace)
(allowed word: (identifier) @property)
(limit word: (identifier) @property)
(minimize word: (identifier) @property)
(machine name: (identifier) @namespace)
(section name: (identifier) @namespace)
(fact key: (identifier) @property)
(fact of: (identifier) @property)
(measure) @number
(function name: (identifier) @function)
(call function: (identifier) @function)
(call function: (attribute name: (identifier) @function))
(parameter name: (identifier) @parameter)
(argument name: (identifier) @parameter)
(declaration name: (identifier) @property)
(submodule name: (identifier) @property)
(entry key: (identifier) @property)
(axis name: (identifier) @label)
(named_type (identifier) @type)
