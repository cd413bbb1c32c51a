package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "ptc"

// layers says for each folder what of ours its packages may import besides one
// another: a folder stands for all that is below it. The row with the longest
// name that holds a package is the one that counts, and a package without a row
// is an error.
var layers = map[string][]string{
	"internal/diag":       nil,
	"internal/dtype":      nil, // element types, shared by IR, kernels, plans and runtime
	"internal/philox":     nil, // the generator, shared by evaluation, data and initialization
	"internal/golden":     nil,
	"internal/regular":    nil, // opening files, shared by plans, data, checkpoints and sources
	"internal/arch":       nil,
	"internal/foreign":    nil, // calls of C functions, shared by LLVM, MPI and native code
	"internal/order":      nil, // lists of numbers, sorted and dealt out
	"internal/units":      nil,
	"internal/wide":       nil,
	"internal/collective": {"internal/wide"}, // kinds of communication, shared by IR, plans and transports
	"internal/processors": nil,               // how many threads compute, for whoever divides work
	"internal/amx":        nil,               // tile registers, asked for where code is chosen and where it is loaded
	"internal/formula":    nil,               // arithmetic of ports, for the language and for plans
	"internal/openpath":   nil,               // paths of repeated modules, for modules and for plans
	"internal/hfclass":    nil,               // what transformers takes keys for, for imports and exports
	"internal/renamed":    nil,               // words of earlier versions, for dumps and for plans
	"internal/ranges":     nil,               // what lies at a range of bytes, for proofs and for plans
	"internal/rolled":     nil,               // the structure of repetition, for modules, plans and the proofs about both

	"internal/progress": nil, // who waits for whom, for schedules, programs and plans

	"runtime/program": {"internal/collective", "internal/dtype", "internal/formula", "internal/openpath", "internal/progress", "internal/ranges", "internal/regular", "internal/renamed", "internal/rolled"}, // the plan is data
	// The seam: what runs a plan is below it, and all else of the runtime above.
	"runtime/device":      {"internal/collective", "internal/order", "runtime/program"},
	"runtime/device/host": {"internal/collective", "internal/units", "runtime/device", "runtime/native", "runtime/program"},
	// The engine of GPUs takes text of PTX, and knows nothing of what makes it; the driver for tests
	// executes it.
	"runtime/cuda":                   {"internal/collective", "internal/foreign", "internal/units", "runtime/device", "runtime/program"},
	"runtime/cuda/blaslt":            {"internal/foreign", "runtime/program"},
	"runtime/cuda/fakelib":           {"internal/foreign"},
	"runtime/cuda/fakecuda":          {"backend/gpu/emu", "backend/gpu/ptx", "runtime/cuda/fakelib"},
	"runtime/cuda/blaslt/fakeblaslt": {"runtime/cuda/fakecuda", "runtime/cuda/fakelib"},
	// The library for tests works on the GPUs of the driver for tests.
	"runtime/comm/nccl/fakenccl": {"internal/dtype", "runtime/cuda/fakecuda", "runtime/cuda/fakelib"},
	// Files by their place, for data and for checkpoints.
	"runtime/storage": {"internal/regular", "runtime/checkpoint/atomicfile"},
	"runtime":         {"internal/collective", "internal/dtype", "internal/foreign", "internal/hfclass", "internal/openpath", "internal/philox", "internal/processors", "internal/ranges", "internal/regular", "internal/amx", "internal/units", "internal/order"},

	"stdlib":          nil,
	"ir":              {"internal/collective", "internal/diag", "internal/dtype", "internal/openpath", "internal/philox", "internal/ranges", "internal/renamed", "internal/rolled", "internal/wide"},
	"ir/pipeline":     {"internal/progress"},
	"lang/syntax":     {"internal/diag"},
	"lang/source":     {"internal/diag", "lang/syntax", "stdlib"},
	"lang/value":      {"internal/diag", "internal/formula", "internal/openpath", "ir", "lang/source", "lang/syntax"},
	"lang/eval":       {"internal/diag", "internal/dtype", "internal/formula", "ir", "lang/source", "lang/syntax", "lang/value"},
	"lang/builtin":    {"internal/diag", "ir", "lang/eval", "lang/source", "lang/syntax", "lang/value"},
	"lang/train":      {"internal/diag", "ir", "lang/eval", "lang/source", "lang/syntax", "lang/value"},
	"lang/directive":  {"internal/diag", "internal/dtype", "ir", "lang/eval", "lang/source", "lang/syntax", "lang/value"},
	"lang/keymap":     {"internal/diag", "ir", "lang/eval", "lang/source", "lang/syntax", "lang/value"},
	"lang":            {"internal/diag", "ir", "stdlib"},
	"passes":          {"internal/collective", "internal/units", "internal/diag", "internal/dtype", "internal/openpath", "internal/progress", "internal/ranges", "internal/rolled", "internal/wide", "ir"},
	"passes/passtest": {"internal/collective", "internal/diag", "internal/golden", "ir", "passes"},

	"backend": {"internal/collective", "internal/diag", "internal/dtype", "internal/foreign", "internal/philox", "internal/processors", "internal/rolled", "internal/amx", "ir", "runtime/program"},
	// Tiles know no target: lowerings import the form, never the other way about.
	"backend/tile": {"ir"},
	"backend/nest": {"backend/tile", "internal/order", "ir"},

	"backend/elementwise": {"backend/kernel", "backend/tile", "ir"},
	// The rooms of each machine: what is shared knows of neither, and neither knows of the other.
	"backend/cpu":           {"backend", "internal/amx", "internal/diag", "internal/foreign", "internal/order", "internal/processors", "ir", "runtime/native", "runtime/program"},
	"backend/cpu/attention": {"backend/kernel"},
	"backend/cpu/choose":    {"backend/tile/schedule", "ir"},
	"backend/cpu/gemm":      {"backend/kernel"},
	"backend/cpu/lower":     {"backend/cpu/attention", "backend/cpu/choose", "backend/cpu/gemm", "backend/elementwise", "backend/kernel", "backend/nest", "backend/tile", "ir"},
	"backend/gpu":           {"backend", "backend/elementwise", "backend/kernel", "backend/nest", "backend/tile", "internal/diag", "internal/order", "ir", "runtime/program"},
	// Layouts are assigned before there is any code.
	"backend/gpu/assign": {"backend/elementwise", "backend/gpu/layout", "backend/kernel", "backend/tile", "internal/order", "ir"},
	"backend/gpu/choose": {"backend/gpu/target", "backend/tile/schedule", "internal/dtype", "ir"},
	"backend/gpu/emu":    {"backend/gpu/ptx", "internal/order"},
	"backend/gpu/layout": {},
	"backend/gpu/ptx":    {},
	"backend/gpu/target": {"internal/diag"},
	"backend/gpu/thread": {"backend/gpu/ptx", "backend/kernel"},
	// The oracle is the engine of its own kind of code, since the runtime may
	// not evaluate IR.
	"backend/ref": {"backend", "internal/diag", "internal/dtype", "internal/philox", "ir", "runtime/device", "runtime/program"},

	"compiler": {"internal/collective", "backend", "internal/diag", "internal/openpath", "internal/regular", "internal/units", "ir", "lang", "passes", "runtime/explain", "runtime/program", "runtime/tokenizer", "stdlib"},
	// Measures what this machine can do, with kernels of ours.
	"compiler/ceilings": {"backend", "compiler/jit", "internal/units", "runtime/native"},
	"compiler/jit":      {"backend", "runtime/native"},
	"compiler/tune":     {"backend", "compiler/jit", "internal/dtype", "internal/units", "ir", "runtime/native", "runtime/program"},

	// Configurations of other software, and sources and lowered modules that mean the same.
	"foresight/launch": {"internal/diag", "ir", "lang"},

	// What an editor asks: places and messages know nothing of the language, and nothing below
	// knows of editors.
	"editor":          {"compiler", "foresight/machine", "internal/diag", "internal/units", "ir", "lang", "runtime/checkpoint/atomicfile", "runtime/explain", "stdlib"},
	"editor/text":     {},
	"editor/protocol": {"editor/text"},
	"editor/names":    {"ir/auto", "lang"},
	"editor/analysis": {"compiler", "editor/names", "editor/text", "foresight/machine", "internal/diag", "ir", "lang", "runtime/explain"},
	"editor/query":    {"editor/analysis", "editor/names", "editor/protocol", "editor/text", "foresight/machine", "internal/diag", "internal/units", "ir", "lang", "stdlib"},
	"editors":         {"lang/syntax"}, // tests alone hold the grammars to the lexer

	// What a plan will cost: machines are read by the parser of the language, whose directives it takes along.
	// Reports show forecasts and cannot make them, since the runtime is below: a forecast fills in what they show.
	"foresight/cost": {"backend/gpu/choose", "backend/gpu/target", "backend/tile/schedule", "foresight/machine", "internal/collective", "internal/dtype", "internal/wide", "ir"},
	"foresight/sim":  {"backend/tile/schedule", "foresight/cost", "foresight/machine", "internal/collective", "internal/rolled", "internal/wide", "ir/pipeline", "runtime/program"},
	// Measures this host by what plans do on it, and so is above the compiler and the runtime.
	"foresight/calibrate": {"compiler", "foresight/cost", "foresight/machine", "internal/collective", "internal/dtype", "internal/units", "lang/syntax", "runtime/comm", "runtime/device", "runtime/exec", "runtime/native", "runtime/program"},
	"foresight/stack":     {"internal/diag", "ir", "lang", "stdlib"},
	"foresight/forecast":  {"foresight/cost", "foresight/machine", "foresight/sim", "foresight/stack", "internal/units", "runtime/explain", "runtime/profile", "runtime/program", "runtime/report", "runtime/timeline"},
	"foresight/machine":   {"internal/diag", "internal/dtype", "internal/units", "lang/directive", "lang/source", "lang/syntax"},
	// The best layout: certify shares nothing with search but the form of certificates.
	"foresight/certificate": {},
	"foresight/facts":       {"ir"},
	"foresight/search":      {"foresight/certificate", "foresight/cost", "foresight/facts", "foresight/machine", "foresight/sim", "internal/collective", "internal/wide", "ir/auto", "ir/pipeline", "runtime/program"},
	"foresight/certify":     {"foresight/certificate", "foresight/cost", "foresight/facts", "foresight/machine", "foresight/sim", "internal/collective", "internal/wide", "ir/auto", "ir/pipeline", "runtime/program"},

	"cmd": {"backend/tile/schedule", "compiler", "editor", "foresight", "internal/diag", "internal/dtype", "internal/formula", "internal/processors", "internal/regular", "internal/units", "ir/auto", "runtime"},
	// The door for programs, at the module's root.
	".":        {"compiler", "internal/diag", "runtime"},
	"docs":     {"backend", "compiler", "foresight/machine", "ir", "lang", "passes", "runtime"}, // tests alone hold the documents to the code
	"examples": {"compiler", "passes", "runtime"},                                               // tests alone train and explain them
	// A module of its own, which takes ptc as sources and as a binary.
	"release":       {},
	"release/build": {"release/tree"},
	"release/check": {},
	"release/deb":   {"release/tree"},
	"release/image": {"release/tree"},
	"release/sbom":  {"release/build"},
	"release/site":  {"release/tree"},
	"release/tree":  {},
	"release/wheel": {"release/tree"},
	"bench":         {"internal/collective", "backend", "compiler", "foresight", "internal/diag", "internal/dtype", "internal/foreign", "internal/processors", "ir", "lang", "passes", "runtime"},
}

// helpers are packages for tests; only tests and other helpers import them.
var helpers = []string{"backend/kernel/kerneltest", "backend/tile/tiletest", "internal/golden", "ir/irtest", "passes/passtest", "runtime/checkpoint/safetensors/safetensorstest", "runtime/comm/nccl/fakenccl", "runtime/cuda/blaslt/fakeblaslt", "runtime/cuda/fakecuda", "runtime/cuda/fakelib", "runtime/storage/fakestore", "runtime/device/fake"}

// libraries says where a library that shapes the code around it may be used
// (besides tests), so that it can be replaced.
var libraries = map[string][]string{
	"aead.dev/minisign":                   {"runtime/signature"},
	"github.com/alecthomas/participle/v2": {"lang/syntax"},
	"github.com/llir/llvm":                {"backend/cpu/emit"},
	"github.com/sourcegraph/jsonrpc2":     {"editor/server"},
	"github.com/spf13/cobra":              {"cmd/ptc"},
	"github.com/fxamacker/cbor/v2":        {"runtime/program"},
	"github.com/ebitengine/purego":        {"internal/foreign"},

	"github.com/CycloneDX/cyclonedx-go":      {"release/sbom"},
	"github.com/google/go-containerregistry": {"release/image"},
	"github.com/goreleaser/nfpm/v2":          {"release/deb"},
	"github.com/yuin/goldmark":               {"release/site"},
	"github.com/dlclark/regexp2":             {"runtime/tokenizer"},
	"github.com/apache/arrow-go/v18":         {"runtime/data/generator"},
	"github.com/parquet-go/parquet-go":       {"runtime/data/corpus"},
	"github.com/BurntSushi/toml":             {"foresight/launch"},
	"go.yaml.in/yaml/v3":                     {"foresight/launch"},
	"github.com/minio/minio-go/v7":           {"runtime/storage", "bench/minio"},
}

// file is a source file of the module.
type file struct {
	name    string // from the module's root, with slashes
	dir     string
	syntax  *ast.File
	test    bool
	imports []string
}

// sources parses every Go file, whatever system it is for.
func sources(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var out []file
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := parse(name, filepath.ToSlash(rel))
		out = append(out, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("found %d Go files below %s: not the module", len(out), root)
	}
	return out
}

func parse(name, rel string) (file, error) {
	f := file{name: rel, dir: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go")}
	text, err := os.ReadFile(name)
	if err != nil {
		return f, err
	}
	f.syntax, err = parser.ParseFile(token.NewFileSet(), rel, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return f, err
	}
	for _, i := range f.syntax.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return f, err
		}
		f.imports = append(f.imports, p)
	}
	return f, nil
}

// within says whether dir is folder or below it.
func within(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}

func withinAny(dir string, folders []string) bool {
	for _, f := range folders {
		if within(dir, f) {
			return true
		}
	}
	return false
}

// layer is the row that counts for a package.
func layer(dir string) (name string, ok bool) {
	for l := range layers {
		if within(dir, l) && len(l) > len(name) {
			name, ok = l, true
		}
	}
	return name, ok
}

// allowed says whether a package may import another one of ours.
func allowed(from, to string) bool {
	l, ok := layer(from)
	return ok && (within(to, l) || withinAny(to, layers[l]))
}

func TestImportsRunOneWay(t *testing.T) {
	for _, f := range sources(t) {
		if _, ok := layer(f.dir); !ok {
			t.Errorf("%s: no row of layers holds this package; say what it may import", f.name)
			continue
		}
		if f.test {
			continue
		}
		for _, i := range f.imports {
			to, ours := strings.CutPrefix(i, module+"/")
			if i == module {
				to, ours = ".", true
			}
			if !ours {
				continue
			}
			if !allowed(f.dir, to) {
				l, _ := layer(f.dir)
				t.Errorf("%s imports %s; %s may import %s", f.name, to, l, list(layers[l]))
			}
			if withinAny(to, helpers) && !withinAny(f.dir, helpers) {
				t.Errorf("%s imports %s, which is for tests", f.name, to)
			}
		}
	}
}

// readers are the files of passes/memory that read, and check, where the others, which plan, have placed values.
var readers = []string{"check.go", "device.go", "places.go", "spots.go", "ticks.go", "uses.go"}

// TestProofsShareNothingWithPlanners: whoever places buffers of repeated parts of a program does not
// reason as whoever proves their places.
func TestProofsShareNothingWithPlanners(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || f.dir != "passes/memory" || slices.Contains(readers, path.Base(f.name)) {
			continue
		}
		for _, i := range f.imports {
			if i == module+"/internal/rolled" || i == module+"/ir/excerpt" {
				t.Errorf("%s plans, and imports %s, on which proofs of plans rest", f.name, i)
			}
		}
	}
}

// TestDrawImports prints which packages of a folder import which others of it:
//
//	go test ./internal/arch -run Draw -v
func TestDrawImports(t *testing.T) {
	files := sources(t)
	for _, folder := range []string{"ir", "lang", "passes", "backend", "runtime"} {
		from := map[string]map[string]bool{}
		for _, f := range files {
			if f.test || !within(f.dir, folder) {
				continue
			}
			if from[f.dir] == nil {
				from[f.dir] = map[string]bool{}
			}
			for _, i := range f.imports {
				if to, ours := strings.CutPrefix(i, module+"/"); ours && within(to, folder) {
					from[f.dir][to] = true
				}
			}
		}
		n, lines := 0, []string{}
		for _, dir := range slices.Sorted(maps.Keys(from)) {
			n += len(from[dir])
			if to := slices.Sorted(maps.Keys(from[dir])); len(to) > 0 {
				lines = append(lines, dir+" → "+strings.Join(to, ", "))
			}
		}
		t.Logf("%s: %d packages, %d imports\n\t%s", folder, len(from), n, strings.Join(lines, "\n\t"))
	}
}

func list(s []string) string {
	if len(s) == 0 {
		return "nothing else of ours"
	}
	s = append([]string(nil), s...)
	sort.Strings(s)
	return strings.Join(s, ", ")
}

func TestLibrariesStayWhereTheyBelong(t *testing.T) {
	used := map[string]bool{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		for _, i := range f.imports {
			for lib, folders := range libraries {
				if !within(i, lib) {
					continue
				}
				used[lib] = true
				if !withinAny(f.dir, folders) {
					t.Errorf("%s imports %s, which belongs to %s", f.name, i, list(folders))
				}
			}
		}
	}
	for lib := range libraries {
		if !used[lib] {
			t.Errorf("%s is in the table of libraries and not in use", lib)
		}
	}
}

// TestRules proves that the rules can fail.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"ir/op", "ir", true},
		{"ir", "internal/diag", true},
		{"ir", "lang", false},
		{"lang", "passes", false},
		{"lang/train", "lang/eval", true},
		{"lang/eval", "lang/train", false},
		{"lang/eval", "lang", false},
		{"lang/value", "lang/eval", false},
		{"lang/directive", "lang/train", false},
		{"editor/query", "editor/analysis", true},
		{"editor/query", "compiler", false},
		{"editor/protocol", "lang", false},
		{"lang", "editor/names", false},
		{"passes/fuse", "lang", false},
		{"passes/fuse", "backend", false},
		{"passes/fuse", "internal/golden", false},
		{"backend/cpu", "runtime/program", true},
		{"backend/cpu", "runtime/device", false},
		{"backend/cpu", "runtime/train", false},
		{"backend/ref", "runtime/device/host", true},
		{"runtime/device", "runtime/comm", false},
		{"runtime/device/host", "runtime/exec", false},
		{"runtime/cuda", "runtime/device", true},
		{"runtime/cuda", "backend/gpu/ptx", false},
		{"runtime/train", "runtime/program", true},
		{"runtime/train", "ir", false},
		{"runtime/train", "backend/ref", false},
		{"runtime/program", "internal/diag", false},
		{"runtime/program", "runtime/data", false},
		{"cmd/ptc", "compiler", true},
		{"cmd/ptc", "lang/syntax", false},
		{"cmd/ptc", "ir", false},
		{"compiler", "cmd/ptc", false},
		{".", "compiler", true},
		{".", "cmd/ptc", false},
		{"compiler", ".", false},
		{"release", "release/site", true},
		{"release/deb", "release/image", false},
		{"release/build", "compiler", false},
		{"nowhere", "ir", false},
	} {
		if got := allowed(c.from, c.to); got != c.want {
			t.Errorf("%s imports %s: allowed %v, expected %v", c.from, c.to, got, c.want)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said := map[string]bool{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		d := f.syntax.Doc
		want := "Package " + f.syntax.Name.Name + " "
		if f.syntax.Name.Name == "main" {
			want = "" // a command's comment begins with its name, by custom
		}
		said[f.dir] = said[f.dir] || d != nil && strings.HasPrefix(d.Text(), want)
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("%s: no doc.go, and no file with a package comment", dir)
		}
	}
}
