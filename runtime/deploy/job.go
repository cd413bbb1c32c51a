package deploy

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"ptc/runtime/program"
	"ptc/runtime/storage"
)

// Options are what a job has besides its plan. The zero value of most stands for a
// default.
type Options struct {
	Plan       string        // file of the plan, where the processes see it
	Ptc        string        // command; "": ptc for Slurm, /usr/local/bin/ptc in an image
	Name       string        // of the job; "": after the plan
	Checkpoint string        // folder that all processes see, or s3://bucket/key; "": checkpoints, and /checkpoints in an image
	Every      int64         // steps between checkpoints; 0: DefaultEvery
	CPUs       int           // processors of a process; 0: DefaultCPUs
	PerNode    int           // processes on a node, or in a pod; 0: as Slurm has it, and 1
	Time       time.Duration // limit of Slurm's job; 0: DefaultTime
	Grace      time.Duration // between the signal and the end; 0: DefaultGrace
	Restarts   int           // of the launcher of an MPIJob; 0: DefaultRestarts, NoRestarts: none
	Image      string        // of the containers
	Claim      string        // persistent volume claim of the checkpoints; "": NAME-checkpoints
	Secret     string        // with the object store's address and credentials; "": NAME-store
	Queue      string        // Kueue's local queue
}

// What holds where options say nothing.
const (
	DefaultEvery    = 500
	DefaultCPUs     = 4
	DefaultTime     = 24 * time.Hour
	DefaultGrace    = 2 * time.Minute
	DefaultRestarts = 100
)

// NoRestarts has a launcher that fails end the job.
const NoRestarts = -1

// Requeue is the exit code of a run that is to be started again: EX_TEMPFAIL of BSD's
// sysexits.h, "the user is invited to retry later", which no other end of a run has.
const Requeue = 75

// overhead is the memory of a process besides its arenas: Go, threads, MPI, batches.
const overhead = 1 << 30

// kinds are the files there are, by name.
var kinds = map[string]func(*job) (string, error){
	"slurm":  slurm,
	"mpijob": mpiJob,
	"kueue":  kueue,
}

// Kinds lists the files there are.
func Kinds() []string {
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Text is the file of a kind for a plan. An error is about the options.
func Text(kind string, plan *program.Plan, o Options) (string, error) {
	write, ok := kinds[kind]
	if !ok {
		return "", fmt.Errorf("there are no files for %s", kind)
	}
	j, err := newJob(plan, o, kind != "slurm")
	if err != nil {
		return "", err
	}
	return write(j)
}

// job is what a plan needs of a cluster.
type job struct {
	Options
	model  string // and its layout
	ranks  int    // processes, one for each device
	gpus   bool   // each has one
	memory int64  // bytes of the host that a process needs
}

// name is a label of DNS (RFC 1123), which Kubernetes asks for and Slurm takes; other
// names are made of it.
var name = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// image is a reference to a container image, and no more than that.
var image = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

func newJob(plan *program.Plan, o Options, container bool) (*job, error) {
	j := &job{Options: o, ranks: plan.Mesh.Ranks(), gpus: strings.HasPrefix(plan.Target, "cuda")}
	j.model = plan.Name
	if plan.Layout != "" {
		j.model += ", layout " + plan.Layout
	}
	for i := range plan.Devices {
		d := &plan.Devices[i]
		need := d.Host + overhead
		if !j.gpus {
			need += d.Arena
		}
		j.memory = max(j.memory, need)
	}
	j.defaults(container)
	return j, j.check(container)
}

func (j *job) defaults(container bool) {
	or := func(s *string, here, there string) {
		if *s == "" && container {
			*s = there
		} else if *s == "" {
			*s = here
		}
	}
	or(&j.Ptc, "ptc", "/usr/local/bin/ptc")
	or(&j.Checkpoint, "checkpoints", "/checkpoints")
	base := nameOf(j.Plan)
	or(&j.Name, base, base)
	or(&j.Claim, "", j.Name+"-checkpoints")
	or(&j.Secret, "", j.Name+"-store")
	if j.CPUs == 0 {
		j.CPUs = DefaultCPUs
	}
	switch j.Restarts {
	case 0:
		j.Restarts = DefaultRestarts
	case NoRestarts:
		j.Restarts = 0
	}
	if j.PerNode == 0 && container {
		j.PerNode = 1
	}
	if j.Every == 0 {
		j.Every = DefaultEvery
	}
	if j.Time == 0 {
		j.Time = DefaultTime
	}
	if j.Grace == 0 {
		j.Grace = DefaultGrace
	}
}

// nameOf makes a name of a plan's file.
func nameOf(path string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	base = regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(base, "-")
	if base = strings.Trim(base[:min(len(base), 40)], "-"); base == "" {
		return "train"
	}
	return base
}

func (j *job) check(container bool) error {
	for _, s := range []struct{ what, text string }{{"plan", j.Plan}, {"command", j.Ptc}, {"folder of checkpoints", j.Checkpoint}} {
		if s.text == "" || strings.ContainsFunc(s.text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
			return fmt.Errorf("%q cannot be the name of the %s", s.text, s.what)
		}
		if strings.HasPrefix(s.text, "-") {
			return fmt.Errorf("the %s %q would be taken for a flag", s.what, s.text)
		}
	}
	for _, s := range []struct{ what, text string }{{"job", j.Name}, {"claim", j.Claim}, {"secret", j.Secret}, {"queue", j.Queue}} {
		if s.text != "" && !name.MatchString(s.text) {
			return fmt.Errorf("%q cannot be the name of the %s: at most 40 of a to z, 0 to 9 and -, none of these at an end", s.text, s.what)
		}
	}
	switch {
	case container && !image.MatchString(j.Image):
		return fmt.Errorf("%q cannot be an image with ptc and the plan in it; name one with --image", j.Image)
	case container && !filepath.IsAbs(j.Plan):
		return fmt.Errorf("in a container plans have absolute paths, not %s; say with --plan where it is there", j.Plan)
	case container && !j.remote() && !filepath.IsAbs(j.Checkpoint):
		return fmt.Errorf("in a container folders of checkpoints have absolute paths, not %s", j.Checkpoint)
	case j.Every < 1 || j.CPUs < 1 || j.PerNode < 0 || j.Restarts < 0:
		return fmt.Errorf("numbers of steps, processors, processes and restarts are above 0")
	case j.PerNode > 0 && j.ranks%j.PerNode != 0:
		return fmt.Errorf("the %d processes of the plan are not %d on each node", j.ranks, j.PerNode)
	case j.Grace < time.Second || j.Grace%time.Second != 0 || j.Time < time.Minute || j.Time%time.Second != 0:
		return fmt.Errorf("times are whole seconds: %v to save, and a minute or more to run, not %v", j.Grace, j.Time)
	case j.Grace >= j.Time:
		return fmt.Errorf("%v to save leave nothing of %v to run", j.Grace, j.Time)
	}
	return nil
}

// remote says that checkpoints are in an object store.
func (j *job) remote() bool { return storage.Remote(j.Checkpoint) }

// command is the words that every process runs; the same the first time and each
// time after.
func (j *job) command() []string {
	return []string{j.Ptc, "run", j.Plan, "--checkpoint", j.Checkpoint, "--every", fmt.Sprint(j.Every),
		"--resume=auto", "--requeue-exit-code", fmt.Sprint(Requeue), "--grace", fmt.Sprintf("%ds", int(j.Grace.Seconds()))}
}

// shell makes one word of a text, for a POSIX shell.
func shell(word string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_./=:-]+$`).MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// line is a command line.
func line(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, shell(w))
	}
	return strings.Join(out, " ")
}

// mebibytes rounds up.
func mebibytes(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

// comment is a text of the plan as part of a comment of one line.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}
