package train

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"

	"ptc/runtime/checkpoint"
	"ptc/runtime/comm"
	"ptc/runtime/data"
	"ptc/runtime/exec"
	"ptc/runtime/program"
	"ptc/runtime/storage"
)

// rule says of a field of Options whether the processes of a job need the same.
type rule struct {
	field string // of Options
	flag  string // of `ptc run` that sets it; "": none does

	// value is what has to be equal on all processes; nil: they may differ.
	value func(o *Options, plan *program.Plan) string
}

// rules has every field of Options once. What only says where rank 0 writes, or
// how a process does its part of the work, may differ.
var rules = []rule{
	{"Steps", "--steps", func(o *Options, p *program.Plan) string {
		return fmt.Sprint(o.steps(p))
	}},
	{"Epochs", "--epochs", func(o *Options, p *program.Plan) string { return fmt.Sprint(o.epochs(p)) }},
	{"Patience", "--patience", func(o *Options, _ *program.Plan) string { return fmt.Sprint(o.Patience) }},
	{"Seed", "--seed", func(o *Options, _ *program.Plan) string {
		if o.Seed == nil {
			return "not given"
		}
		return fmt.Sprint(*o.Seed)
	}},
	{"Init", "--init", func(o *Options, _ *program.Plan) string { return given(o.Init) }},
	{"InitPartial", "--init-partial", func(o *Options, _ *program.Plan) string { return onOff(o.InitPartial) }},
	{"Save", "--save", func(o *Options, _ *program.Plan) string { return given(o.Save) }},
	{"SaveAverage", "--save-average", func(o *Options, _ *program.Plan) string { return given(o.SaveAverage) }},
	{"DumpGrads", "--dump-grads", func(o *Options, _ *program.Plan) string { return given(o.DumpGrads) }},
	{"DumpBatches", "--dump-batches", nil}, // rank 0 reads and writes them alone
	{"Checkpoint", "--checkpoint", func(o *Options, _ *program.Plan) string { return given(o.Checkpoint) }},
	{"Every", "--every", func(o *Options, _ *program.Plan) string { return fmt.Sprint(o.Every) }},
	{"Keep", "--keep", nil}, // rank 0 alone removes old checkpoints
	{"KeepBest", "--keep-best", func(o *Options, _ *program.Plan) string { return fmt.Sprint(o.KeepBest) }},
	{"Resume", "--resume", func(o *Options, _ *program.Plan) string { return onOff(o.Resume) }},
	{"ResumeIfAny", "--resume=auto", func(o *Options, _ *program.Plan) string { return onOff(o.ResumeIfAny) }},
	{"ResumeFrom", "--resume=PLACE", func(o *Options, _ *program.Plan) string { return given(o.ResumeFrom) }},
	{"NewData", "--new-data", func(o *Options, _ *program.Plan) string { return onOff(o.NewData) }},
	{"After", "--after", func(o *Options, _ *program.Plan) string { return fmt.Sprint(o.After) }},
	{"Overwrite", "--overwrite", func(o *Options, _ *program.Plan) string { return onOff(o.Overwrite) }},
	{"Valid", "--eval-windows", func(o *Options, _ *program.Plan) string { return fmt.Sprint(o.Valid) }},
	{"ValidEvery", "--eval-every", func(o *Options, _ *program.Plan) string { return fmt.Sprint(o.ValidEvery) }},
	{"OnNaN", "--on-nan", func(o *Options, _ *program.Plan) string { return o.OnNaN.String() }},
	{"Data", "--data", func(o *Options, _ *program.Plan) string { return asGiven(o.Data) }},
	{"Folder", "", nil}, // a place, as Vars are
	{"Vars", "", nil},   // places of files; what is in the files is compared
	{"Threads", "--threads", nil},
	{"Log", "--log", nil},
	{"Comm", "", nil},
	{"CommTimeout", "--comm-timeout", nil},
	{"OffloadDir", "--offload-dir", nil},
	{"Cache", "--blas-cache", nil},
	{"Blas", "--blas", func(o *Options, _ *program.Plan) string { return o.Blas }},
	{"Trace", "--trace", func(o *Options, _ *program.Plan) string { return onOff(o.Trace != "") }}, // of rank 0's device, which runs its steps as all others do
	{"TraceSteps", "", func(o *Options, _ *program.Plan) string { return fmt.Sprint(o.TraceSteps) }},
	{"Profile", "--profile", func(o *Options, _ *program.Plan) string { return onOff(o.Profile != nil) }},
	{"ProfileFile", "", nil}, // rank 0 alone writes it
	{"OnFault", "", nil},
	{"Begun", "", nil},
	{"CheckpointSync", "--checkpoint-sync", nil}, // where one asks for it, all do
	{"Grace", "--grace", nil},
	{"held", "", nil},
	{"free", "", nil},
}

func given(s string) string {
	if s == "" {
		return "not given"
	}
	return "given"
}

// asGiven writes options as the command line does.
func asGiven(options []data.Option) string {
	if len(options) == 0 {
		return "not given"
	}
	texts := make([]string, len(options))
	for i, o := range options {
		texts[i] = o.Key + " = " + o.Value
	}
	return strings.Join(texts, ", ")
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// mayDiffer lists the flags that may be another for each process.
func mayDiffer() string {
	var flags []string
	for _, r := range rules {
		if r.value == nil && r.flag != "" {
			flags = append(flags, r.flag)
		}
	}
	return strings.Join(flags, ", ")
}

// fact is a named value that has to be equal on all processes.
type fact struct{ name, value string }

// sameOptions compares the options of all processes, and after them the file of
// initial parameters.
func sameOptions(p *processes, o *Options, plan *program.Plan) error {
	if p.end == nil {
		return nil
	}
	var facts []fact
	for _, rule := range rules {
		if rule.value == nil {
			continue
		}
		name := rule.flag
		if name == "" {
			name = "the option " + rule.field
		}
		facts = append(facts, fact{name, rule.value(o, plan)})
	}
	differ := func(what string) *Error {
		return errorf(ExitUsage, "the processes have different options: %s", what).
			hint("start every process with the same options; only %s may differ", mayDiffer())
	}
	if err := p.same(facts, "options", differ); err != nil || o.Init == "" {
		return err
	}
	path, err := checkpoint.Witness(o.Init)
	sum := ""
	if err == nil {
		sum, err = contentOf(path)
	}
	if err = p.agree(err); err != nil {
		return err
	}
	return p.same([]fact{{"the content of the --init file", sum}}, "initial parameters", func(what string) *Error {
		return errorf(ExitFile, "the processes would start from different parameters: %s", what).
			hint("give every process the same file")
	})
}

// contentOf is the digest of a file.
func contentOf(path string) (string, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return "not a regular file", nil // opening it for its values says more
	}
	f, err := storage.Open(path)
	if err != nil {
		return "", fileError(err, "ptc cannot read %s", path)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fileError(err, "ptc cannot read %s", path)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}

// sameStart compares what every process has found for itself when it is ready
// for the first step.
func sameStart(s *session) error {
	p := s.procs
	if p.end == nil {
		return nil
	}
	ck := "none"
	if dir := s.resumed(); dir != "" {
		sum, err := contentOf(storage.Join(dir, "manifest.json"))
		if err = p.agree(err); err != nil {
			return err
		}
		ck = sum
	}
	err := p.same([]fact{
		{"the checkpoint", ck},
		{"the first step", fmt.Sprint(s.first)},
		{"the last step", fmt.Sprint(s.last)},
		{"the seed", fmt.Sprint(s.seed)},
		{"the content of the data", given(s.feed.fingerprint()) + " " + s.feed.fingerprint()},
	}, "the start", func(what string) *Error {
		return errorf(ExitFile, "the processes would train differently: %s", what).
			hint("give every process the same checkpoints, the same data and the same seed")
	})
	if err != nil {
		return err
	}
	return sameCode(p, codeOn(s.dev.m.On()))
}

// sameCode compares what code of the plan every process runs: what is on several devices would not stay the
// same under different code.
func sameCode(p *processes, code string) error {
	return p.same([]fact{{"the code", code}}, "their code", func(what string) *Error {
		return errorf(ExitFile, "the processes would run different code of the plan: %s", what).
			hint("give every process a GPU of the same kind")
	})
}

// codeOn is what code of the plan devices run; of one process they run the same.
func codeOn(on []exec.On) string {
	for _, x := range on {
		if x.Code != "" {
			return "that for " + x.Code
		}
	}
	return "the plan's own"
}

// factBytes is what a process tells of a fact: a digest, and the beginning of its
// text for the message.
const (
	factBytes  = 64
	digestSize = 16
)

// same fails everywhere if facts are not equal on all processes, by the error of those that differ.
func (p *processes) same(facts []fact, what string, differ func(what string) *Error) error {
	text, err := p.compare(facts, what)
	if err != nil || text == "" {
		return err
	}
	return p.everywhere(differ(text))
}

// compare says which facts are not equal on all processes, and what they are on
// which ranks; "" if all are equal.
func (p *processes) compare(facts []fact, what string) (string, error) {
	n := factBytes * len(facts)
	mine := make([]byte, n)
	for i, f := range facts {
		sum := sha256.Sum256([]byte(f.value))
		at := mine[factBytes*i:]
		copy(at[:digestSize], sum[:])
		binary.LittleEndian.PutUint16(at[digestSize:], uint16(copy(at[digestSize+2:factBytes], f.value)))
	}
	all, err := comm.Gather(p.end, mine, what)
	if err != nil {
		return "", &Error{Code: codeOf(err), Msg: "the processes cannot compare " + what, Err: err}
	}
	var differ []string
	for i, f := range facts {
		var values []string
		ranks := map[string][]int{} // by digest and text
		for rank := range p.end.Mesh().Size() {
			v := string(all[n*rank+factBytes*i:][:factBytes])
			if ranks[v] == nil {
				values = append(values, v)
			}
			ranks[v] = append(ranks[v], rank)
		}
		if len(values) > 1 {
			differ = append(differ, f.name+" is "+listed(values, ranks))
		}
	}
	return strings.Join(differ, "; "), nil
}

// maxListed is how many different values, and ranks that have one, are named.
const maxListed = 4

// listed names values with the ranks that have them, both shortened.
func listed(values []string, ranks map[string][]int) string {
	var parts []string
	for i, v := range values {
		if i == maxListed {
			parts = append(parts, fmt.Sprintf("%d other values elsewhere", len(values)-i))
			break
		}
		size := binary.LittleEndian.Uint16([]byte(v[digestSize:]))
		text := strings.ToValidUTF8(v[digestSize+2:][:size], "")
		on, more := ranks[v], ""
		if len(on) > maxListed {
			on, more = on[:maxListed], fmt.Sprintf(" and %d more", len(on)-maxListed)
		}
		parts = append(parts, text+" on "+comm.RankList(on)+more)
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
