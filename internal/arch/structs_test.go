package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A struct of so many fields with so many methods in so many files is a package in disguise: every method may
// read and write every field, and nobody can say which does. Such a struct becomes stages, each a type that is
// made and handed on.
const (
	mostFields  = 11
	mostMethods = 14
	mostFiles   = 4
)

// large lists, with the reason, structs that may exceed all three limits. There is none.
var large = map[string]string{}

// shape is what a struct has.
type shape struct {
	fields, methods int
	files           map[string]bool
}

// TestStructsAreStages holds structs to the limits above. Embedded structs count as one field.
func TestStructsAreStages(t *testing.T) {
	shapes := map[string]*shape{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, file)
		rel = filepath.ToSlash(rel)
		if e.IsDir() {
			if rel != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			count(d, rel, func(name string) *shape {
				name = path.Dir(rel) + "." + name
				if shapes[name] == nil {
					shapes[name] = &shape{files: map[string]bool{}}
				}
				return shapes[name]
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range shapes {
		if s.fields > mostFields && s.methods > mostMethods && len(s.files) > mostFiles && large[name] == "" {
			t.Errorf("%s has %d fields and %d methods in %d files", name, s.fields, s.methods, len(s.files))
		}
	}
}

// count adds what a declaration has to the shapes of the types that it is about.
func count(d ast.Decl, file string, of func(name string) *shape) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, s := range d.Specs {
			t, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			if fields, ok := t.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					of(t.Name.Name).fields += max(1, len(f.Names))
				}
			}
		}
	case *ast.FuncDecl:
		if d.Recv == nil {
			return
		}
		r := d.Recv.List[0].Type
		if p, ok := r.(*ast.StarExpr); ok {
			r = p.X
		}
		switch x := r.(type) {
		case *ast.IndexExpr:
			r = x.X
		case *ast.IndexListExpr:
			r = x.X
		}
		if name, ok := r.(*ast.Ident); ok {
			s := of(name.Name)
			s.methods++
			s.files[file] = true
		}
	}
}
