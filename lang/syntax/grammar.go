package syntax

import (
	"slices"
	"sync"

	"github.com/alecthomas/participle/v2"
)

// declaration is the root of the grammar: each declaration is parsed alone.
type declaration struct {
	Decl Decl `parser:"';'* @@ ';'*"`
}

// grammar builds the parser from the tags of the tree, once. The grammar is
// LL(1): with a lookahead of 0 a branch that has taken one token is the right
// one, so the first error met is the true one.
var grammar = sync.OnceValue(func() *participle.Parser[declaration] {
	if len(directives) == 0 {
		panic("lang/syntax: a grammar without directives: import ptc/lang/directive")
	}
	return participle.MustBuild[declaration](
		participle.Lexer(definition{}),
		participle.Elide("Space", "Comment"),
		participle.UseLookahead(0),
		participle.ParseTypeWith(parseExpr),
		participle.ParseTypeWith(parseType),
		participle.ParseTypeWith(parseDatum),
		participle.Union[Decl](&Import{}, &Config{}, &Module{}, &Fn{}, &Train{}, &Layout{}, &Names{}, &Sweep{}, &Machine{}),
		participle.Union[Member](&ParamDecl{}, &Let{}, &Fn{}, &SubModule{}),
		participle.Union[Stmt](&Return{}, &For{}, &If{}, &Assign{}),
		participle.Union(append(slices.Clone(directives), Directive(&Entry{}))...),
		participle.Union[NamesItem](&TensorRow{}, &SkipRow{}, &KeyRows{}, &Entry{}),
		participle.Union[AutoItem](&MeshOn{}, &Keep{}, &Allow{}, &Limit{}, &Minimize{}),
		participle.Union[MachineItem](&Section{}, &Fact{}),
	)
})

// The words that begin something, for messages and their suggestions.
var (
	declWords   = []string{"import", "config", "module", "model", "optimizer", "fn", "train", "layout", "names", "sweep", "machine"}
	memberWords = []string{"param", "state", "let", "fn"}
	stmtWords   = []string{"return", "for", "if"}
	// autoWords begin the items of an auto layout.
	autoWords = []string{"mesh", "keep", "allow", "limit", "minimize"}
	// sectionWords begin the sections of a machine.
	sectionWords = []string{"device", "host", "level", "kernels"}
)

// Those of a layout, which [RegisterDirective] fills.
var (
	directives     []Directive
	directiveWords []string
	optionWords    []string // plain entries
)
