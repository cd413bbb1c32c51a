package op_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/ir/op"
)

// Every row has a constant, and every constant a row: those of elementwise operations are next to it,
// kinds of package collective there, and the others in names.go.
func TestNamesAreTheRows(t *testing.T) {
	var names, rows []string
	for _, file := range []string{"names.go", "unary.go", "binary.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.CONST {
				continue
			}
			for _, n := range d.(*ast.GenDecl).Specs {
				s := n.(*ast.ValueSpec)
				name, _ := strconv.Unquote(s.Values[0].(*ast.BasicLit).Value)
				if want := strings.ReplaceAll(name, "_", ""); !strings.EqualFold(s.Names[0].Name, want) {
					t.Errorf("%q is called %s", name, s.Names[0].Name)
				}
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, d := range op.All() {
		if collective.Of(d.Name).Kind == "" || d.Name == op.Broadcast { // along axes, not among devices
			rows = append(rows, d.Name)
		}
	}
	if !slices.Equal(names, rows) {
		t.Errorf("names.go has %v, and the rows are %v", names, rows)
	}
}

// elsewhere are words that happen to be names of operations as well.
var elsewhere = map[string][]string{
	"ir/module.go":                     {"grad", "index"},  // roles
	"ir/stack.go":                      {"enter", "leave"}, // that ir itself must know
	"ir/task.go":                       {"accumulate", "accumulate_max", "enter_tick", "leave_tick", "add", "max"},
	"ir/tensor/shard.go":               {"max"},                  // a reduction
	"ir/verify/structure.go":           {"max"},                  // a reduction
	"passes/partition/steps.go":        {"max"},                  // a reduction
	"passes/passtest/mutate_change.go": {"max"},                  // a reduction
	"passes/passtest/random.go":        {"random"},               // a module
	"passes/stage/pieces.go":           {"max"},                  // a reduction
	"passes/ringattention/rewrite.go":  {"gather"},               // a way to compute attention
	"ir/layout/rules.go":               {"gather", "accumulate"}, // a way to compute attention, and an option of layouts
	"passes/simplify/rules_arith.go":   {"detach"},               // a rule
	"backend/tile/schedule/text.go":    {"dot", "split"},         // fields of a schedule
}

// Whoever asks what an operation is like asks its row. Where a rule is about one
// operation, it says so by the constant, so that the uses of each can be found.
func TestOperationsAreNotNamedByStrings(t *testing.T) {
	unused := maps.Clone(elsewhere)
	root := filepath.Join("..", "..")
	for _, top := range []string{"ir", "passes", "backend", "compiler"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, e fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(root, path)
			rel = filepath.ToSlash(rel)
			switch {
			case err != nil:
				return err
			case e.IsDir() && (rel == "ir/op" || e.Name() == "testdata"):
				return fs.SkipDir
			// The instructions of kernels have names of their own, and so do functions of f32.
			case e.IsDir(), !strings.HasSuffix(rel, ".go"), strings.HasSuffix(rel, "_test.go"), rel == "backend/kernel/rows.go",
				strings.HasPrefix(rel, "backend/kernel/vmath/"), strings.HasPrefix(rel, "backend/cpu/emit/"), strings.HasPrefix(rel, "backend/gpu/emu/"), strings.HasPrefix(rel, "backend/gpu/nvptx/"):
				return nil
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				l, ok := n.(*ast.BasicLit)
				if !ok || l.Kind != token.STRING {
					return true
				}
				name, _ := strconv.Unquote(l.Value)
				switch {
				case op.Lookup(name) == nil:
				case slices.Contains(elsewhere[rel], name):
					delete(unused, rel)
				default:
					t.Errorf("%s:%d: %s names an operation; ask its row, or use the constant of ir/op", rel, fset.Position(l.Pos()).Line, l.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for f := range unused {
		t.Errorf("%s has no such word any more", f)
	}
}
