package certify

import (
	"fmt"

	"ptc/foresight/certificate"
	"ptc/foresight/cost"
	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/ir/auto"
	"ptc/runtime/program"
)

// Given is what a certificate must be about.
type Given struct {
	Facts   *facts.Facts // of the model, in the precision that every layout has
	Cluster *machine.Cluster
	Auto    *auto.Layout
	Source  string               // the SHA-256 of the source, in hexadecimal
	Imports []certificate.Import // what the source imports, as a certificate has it
	Ptc     string               // the version of ptc
	Config  [][2]string
	// Probe compiles a layout, given as the text of its block, without code: the plan of all devices. Code is that of the
	// compiler's error if it refuses the layout; another error ends the verification.
	Probe func(layout string) (plan *program.Plan, code string, err error)
	// Compile compiles a layout in full.
	Compile func(layout string) (*program.Plan, error)
}

// Verdict is what was found to be true.
type Verdict struct {
	Leaves   map[certificate.Why]int // how many leaves have a reason
	Tables   int                     // how many blocks were measured
	Probes   int                     // how many layouts were compiled without code, those of tables among them
	Compiled int                     // how many were compiled in full
	Winner   *certificate.Leaf       // nil if no layout fits
	Layout   string                  // the winner as the text of a block
}

// Check is what was being checked when a certificate turned out to be false.
type Check string

// The checks, in their order.
const (
	Subject Check = "subject" // it is about the source, the machine and the space that are given
	Tree    Check = "tree"    // leaves cover the space, each part of it once and in order
	Form    Check = "form"    // a leaf has what its reason needs, and nothing else
	Winner  Check = "winner"  // the winner is the first of the best leaves that were evaluated
	Facts   Check = "facts"   // numbers that follow from the model
	Tables  Check = "tables"  // there are the tables that leaves need, with true numbers
	Blocks  Check = "blocks"  // numbers that follow from tables
	Probes  Check = "probes"  // what layouts take, by compiling them without code
	Full    Check = "full"    // what the best ones take, by compiling them in full
)

// Fault is why a certificate is false: an error of Verify that is about the certificate.
type Fault struct {
	Check Check
	Where string // such as leaves[17]
	Text  string
	// Import is the path of the import that differs; empty for another fault.
	Import string
}

func (f *Fault) Error() string {
	if f.Where == "" {
		return f.Text
	}
	return f.Where + ": " + f.Text
}

// checker is a verification in progress.
type checker struct {
	formulas
	evaluator
	c        *certificate.Certificate
	parts    []*part                       // of the leaves
	blocks   map[string]*part              // layouts of tables, by their paths
	measured map[string]*certificate.Table // the verifier's own tables, by their paths
	verdict  Verdict
	done     int
	all      int // probes and compilations there are to do
	progress func(done, all int)
}

// Verify checks that a certificate is true, and takes nothing of it for granted. The error is a *[Fault], the first thing that is
// false; or another one if the compiler or the simulator failed. Progress, which may be nil, receives how many of all layouts have
// been compiled.
func Verify(c *certificate.Certificate, g *Given, progress func(done, all int)) (*Verdict, error) {
	return newChecker(c, g, newKnown(), progress).run()
}

func newChecker(c *certificate.Certificate, g *Given, known *known, progress func(done, all int)) *checker {
	model := cost.New(g.Cluster, cost.Software{})
	return &checker{c: c, progress: progress, measured: map[string]*certificate.Table{}, verdict: Verdict{Leaves: map[certificate.Why]int{}},
		formulas:  formulas{&space{Facts: g.Facts, cluster: g.Cluster, auto: g.Auto, flows: map[flowKey]*flow{}}, model},
		evaluator: evaluator{given: g, model: model, memory: room(g.Cluster, g.Auto), known: known}}
}

func (k *checker) run() (*Verdict, error) {
	for _, check := range []func() error{k.subject, k.covers, k.forms, k.best, k.byFacts, k.listed, k.measure, k.byTables, k.evaluated, k.full} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	k.verdict.Probes, k.verdict.Compiled = k.probes, k.compilations
	return &k.verdict, nil
}

// step tells how far the verification is.
func (k *checker) step() {
	k.done++
	if k.progress != nil {
		k.progress(k.done, k.all)
	}
}

// fault is that of the certificate as such.
func fault(check Check, format string, args ...any) error {
	return &Fault{Check: check, Text: fmt.Sprintf(format, args...)}
}

// leafFault is a fault of a leaf.
func (k *checker) leafFault(check Check, i int, format string, args ...any) error {
	return &Fault{Check: check, Where: fmt.Sprintf("leaves[%d], `%s`", i, k.c.Leaves[i].At), Text: fmt.Sprintf(format, args...)}
}

// leafError is an error of the compiler or the simulator.
func (k *checker) leafError(i int, err error) error {
	return fmt.Errorf("leaves[%d], `%s`: %w", i, k.c.Leaves[i].At, err)
}

// tableFault is a fault of a table.
func (k *checker) tableFault(i int, format string, args ...any) error {
	return &Fault{Check: Tables, Where: fmt.Sprintf("tables[%d], `%s`", i, k.c.Tables[i].At), Text: fmt.Sprintf(format, args...)}
}
