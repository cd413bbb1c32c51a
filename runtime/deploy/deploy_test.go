package deploy

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/program"
)

var update = flag.Bool("update", false, "write the files of testdata")

// planT is a plan of so many devices.
func planT(target string, devices int) *program.Plan {
	return &program.Plan{Name: "GPT", Layout: "data", Target: target, Mesh: []program.MeshAxis{{Name: "dp", Size: devices}},
		Devices: []program.Device{{Arena: 3 << 30, Host: 5 << 20}}}
}

var cases = []struct {
	file, kind string
	plan       *program.Plan
	options    Options
}{
	{"slurm.sbatch", "slurm", planT("cpu:x86-64-v3", 8), Options{Plan: "out/gpt.bin"}},
	{"slurm-gpu.sbatch", "slurm", planT("cuda:sm_90a", 16), Options{Plan: "/models/it's gpt.bin", Checkpoint: "/scratch/a b", PerNode: 8, CPUs: 12, Time: 26*time.Hour + 90*time.Second, Grace: 5 * time.Minute, Every: 100}},
	{"mpijob.yaml", "mpijob", planT("cpu:x86-64-v3", 8), Options{Plan: "/plan.bin", Image: "registry.example/train:1"}},
	{"mpijob-gpu.yaml", "mpijob", planT("cuda:sm_80", 16), Options{Plan: "/plan: #1.bin", Image: "registry.example/train@sha256:0123", PerNode: 8, Claim: "shared", Name: "gpt", Restarts: 3}},
	{"mpijob-store.yaml", "mpijob", planT("cpu:x86-64-v3", 8), Options{Plan: "/plan.bin", Image: "registry.example/train:1", Checkpoint: "s3://bucket/run/ck", Secret: "keys"}},
	{"kueue.yaml", "kueue", planT("cuda:sm_80", 4), Options{Plan: "/plan.bin", Image: "registry.example/train:1", Queue: "team"}},
}

// TestFiles holds the texts to those of testdata, to which bench/operators holds the types
// of the operators.
func TestFiles(t *testing.T) {
	for _, c := range cases {
		text, err := Text(c.kind, c.plan, c.options)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", c.file)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), text); diff != "" {
			t.Errorf("%s, - expected, + found:\n%s", c.file, diff)
		}
	}
}

// TestMistakes: what a user gives is refused where it could be more than a word.
func TestMistakes(t *testing.T) {
	good := Options{Plan: "/p.bin", Image: "x", Queue: "q"}
	for _, c := range []struct {
		kind, say string
		change    func(o *Options)
	}{
		{"nomad", "no files for nomad", func(*Options) {}},
		{"slurm", "name of the plan", func(o *Options) { o.Plan = "a\n#SBATCH --wrap=x" }},
		{"slurm", "name of the folder", func(o *Options) { o.Checkpoint = "a\x00b" }},
		{"slurm", "looks like a flag", func(o *Options) { o.Plan = "--resume" }},
		{"slurm", "name of the job", func(o *Options) { o.Name = "Job 1" }},
		{"slurm", "name of the job", func(o *Options) { o.Name = strings.Repeat("a", 41) }},
		{"kueue", "name of the queue", func(o *Options) { o.Queue = "q\n" }},
		{"kueue", "is missing", func(o *Options) { o.Queue = "" }},
		{"mpijob", "is Kueue's", func(*Options) {}},
		{"kueue", "name of the claim", func(o *Options) { o.Claim = "c: d" }},
		{"kueue", "name of the secret", func(o *Options) { o.Secret = "a: b" }},
		{"kueue", "cannot be an image", func(o *Options) { o.Image = "a b" }},
		{"kueue", "absolute paths", func(o *Options) { o.Plan = "p.bin" }},
		{"slurm", "above 0", func(o *Options) { o.CPUs = -1 }},
		{"slurm", "not 3 on each node", func(o *Options) { o.PerNode = 3 }},
		{"slurm", "whole seconds", func(o *Options) { o.Grace = 1500 * time.Millisecond }},
		{"slurm", "nothing of 1m0s to run", func(o *Options) { o.Time = time.Minute }},
	} {
		o := good
		c.change(&o)
		if text, err := Text(c.kind, planT("ref", 4), o); err == nil || text != "" || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s, %q: %v\n%s", c.kind, c.say, err, text)
		}
	}
}

func TestNames(t *testing.T) {
	for path, want := range map[string]string{"a/GPT_2.bin": "gpt-2", "ß.bin": "train", "-x-.bin": "x", strings.Repeat("ab-", 20): "ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-a"} {
		if got := nameOf(path); got != want || !name.MatchString(got) {
			t.Errorf("%s: %s, expected %s", path, got, want)
		}
	}
	for word, want := range map[string]string{"a": "a", "a b": "'a b'", "$(x)": "'$(x)'", "it's": `'it'\''s'`, "": "''"} {
		if got := shell(word); got != want {
			t.Errorf("%q: %s, expected %s", word, got, want)
		}
	}
}

// sbatchOptions are those of sbatch(1) that scripts have, and what each takes.
var sbatchOptions = map[string]string{
	"job-name": `[a-z0-9-]+`, "ntasks": `[1-9]\d*`, "ntasks-per-node": `[1-9]\d*`, "cpus-per-task": `[1-9]\d*`,
	"mem-per-cpu": `[1-9]\d*M`, "gpus-per-task": `1`, "time": `\d+-\d\d:\d\d:\d\d`, "requeue": ``, "signal": `USR1@[1-9]\d*`,
	"open-mode": `append`, "output": `[a-z0-9-]+-%j\.log`,
}

// scripts are the names of those in testdata.
func scripts(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.sbatch")
	if err != nil || len(names) != 2 {
		t.Fatalf("scripts %v, %v", names, err)
	}
	return names
}

func TestBatchOptions(t *testing.T) {
	for _, name := range scripts(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(string(text), "\n\n")
		if strings.Contains(body, "#SBATCH") || !strings.HasPrefix(head, "#!/bin/bash\n") {
			t.Errorf("%s: sbatch reads options before the first command alone", name)
		}
		var seen []string
		for _, m := range regexp.MustCompile(`(?m)^#SBATCH --([a-z-]+)=?(.*)$`).FindAllStringSubmatch(head, -1) {
			want, ok := sbatchOptions[m[1]]
			if !ok || !regexp.MustCompile("^"+want+"$").MatchString(m[2]) || slices.Contains(seen, m[1]) {
				t.Errorf("%s: %s", name, m[0])
			}
			seen = append(seen, m[1])
		}
		if len(seen) != strings.Count(head, "#SBATCH") || len(seen) < 9 {
			t.Errorf("%s has the options %v", name, seen)
		}
	}
}

// bin makes programs that stand for others, in a folder that is the only one of PATH
// besides the system's.
func bin(t *testing.T, programs map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return dir
}

// TestBatchScripts: a script is one of bash, passes on the words as they are, and puts
// the job back into the queue where the run says so.
func TestBatchScripts(t *testing.T) {
	for _, c := range []struct {
		code string
		want string
	}{{"75", "requeue 42\n"}, {"0", ""}, {"3", ""}} {
		for i, name := range scripts(t) {
			dir := bin(t, map[string]string{"srun": "printf '%s\\n' \"$@\" > \"$0.said\"\nexit " + c.code, "scontrol": "echo \"$@\" > \"$0.said\""})
			if text, err := exec.Command("bash", "-n", name).CombinedOutput(); err != nil {
				t.Fatalf("bash -n %s: %v\n%s", name, err, text)
			}
			cmd := exec.Command("bash", name)
			cmd.Env = append(os.Environ(), "SLURM_JOB_ID=42")
			if text, _ := cmd.CombinedOutput(); cmd.ProcessState.String() != "exit status "+c.code || len(text) > 0 {
				t.Errorf("%s: %s\n%s", name, cmd.ProcessState, text)
			}
			said, _ := os.ReadFile(filepath.Join(dir, "scontrol.said")) // none where it was not asked
			if string(said) != c.want {
				t.Errorf("%s: after %s, scontrol %s", name, c.code, said)
			}
			words, err := os.ReadFile(filepath.Join(dir, "srun.said"))
			if plan := []string{"out/gpt.bin", "/models/it's gpt.bin"}[1-i]; err != nil || !strings.Contains(string(words), "run\n"+plan+"\n") {
				t.Errorf("%s: srun got\n%s", name, words)
			}
		}
	}
}

// TestLauncher: SIGTERM, twice, becomes mpirun's SIGUSR1, and the code is mpirun's.
func TestLauncher(t *testing.T) {
	for _, c := range []struct{ mpirun, want string }{
		{"trap 'sleep 0.3; exit 75' USR1\n: > \"$0.up\"\nwhile :; do sleep 0.05; done", "exit status 75"},
		{": > \"$0.up\"\nexit 3", "exit status 3"},
		{": > \"$0.up\"\nexit 0", "exit status 0"},
	} {
		dir := bin(t, map[string]string{"mpirun": c.mpirun})
		j, err := newJob(planT("ref", 2), Options{Plan: "/p.bin", Image: "x"}, true)
		if err != nil {
			t.Fatal(err)
		}
		manifest := j.manifest("")
		text := strings.TrimSpace(unblock(t, manifest, "                - |\n", 18))
		cmd := exec.Command("sh", "-c", text)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i++ {
			if _, err := os.Stat(filepath.Join(dir, "mpirun.up")); err == nil {
				break
			}
			if i > 1000 {
				t.Fatal("mpirun was not started")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if c.want == "exit status 75" {
			for range 2 {
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		_ = cmd.Wait() // its state says it
		if got := cmd.ProcessState.String(); got != c.want {
			t.Errorf("the launcher ends with %s, expected %s", got, c.want)
		}
	}
}

// unblock is the content of a literal block of YAML.
func unblock(t *testing.T, text, head string, columns int) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, head)
	if !ok {
		t.Fatalf("no %q in\n%s", head, text)
	}
	var b strings.Builder
	for l := range strings.Lines(rest) {
		in, ok := strings.CutPrefix(l, strings.Repeat(" ", columns))
		if !ok {
			break
		}
		b.WriteString(in)
	}
	return b.String()
}
