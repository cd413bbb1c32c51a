package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"ptc/internal/processors"
	"ptc/runtime/program"
	"ptc/runtime/sweep"
)

// jobs are the processes that train points at once.
type jobs struct {
	mu    sync.Mutex
	under map[int]*exec.Cmd // by number of the point
	ended bool              // no further one starts
	told  os.Signal         // that ended it, if one did
	done  chan job
}

// job is a process that has ended, and how.
type job struct {
	at   int // in the list of points
	code int
	err  error // it could not be started
}

// atOnce runs what has no result yet, some points at the same time.
func (s *sweeping) atOnce(all []*placed, results []*sweep.Result) (err error) {
	plans := filepath.Join(s.f.output, fmt.Sprintf(".plans-%d", os.Getpid())) // of this sweep alone, as it is removed
	defer func() {
		if e := os.RemoveAll(plans); err == nil && e != nil {
			err = fileError(e)
		}
	}()
	j := &jobs{under: map[int]*exec.Cmd{}, done: make(chan job)}
	s.signals.finish(func(sig os.Signal) {
		fmt.Fprintf(s.err, "\n%s: all points finish their step; once more ends them at once\n", sig)
		j.end(sig)
		s.signals.finish(func(os.Signal) {
			j.end(os.Kill)
			os.Exit(exitInterrupt)
		})
	})
	defer s.signals.finish(nil)
	running := 0
	var failed error // the first; what runs then goes on
	end := func(err error) {
		if running--; err != nil {
			j.stop()
			failed = cmp.Or(failed, err)
		}
	}
	for i, p := range all {
		if results[i] != nil {
			continue
		}
		for running >= s.f.jobs {
			end(s.ended(<-j.done, all, results))
		}
		if j.stopped() {
			break
		}
		file, err := s.planFile(plans, p)
		running++
		if err == nil && j.start(i, p.Number, s.child(p, file)) {
			s.tell(p)
			continue
		}
		end(err) // or a signal has come
	}
	for running > 0 {
		end(s.ended(<-j.done, all, results))
	}
	if failed == nil && slices.Contains(results, nil) { // a signal came where no process had to end for it
		failed = &fault{code: s.signals.code(j.signal()), err: context.Canceled, silent: true}
	}
	return failed
}

// ended notes the result of a point whose process has ended; the error is that it has none.
func (s *sweeping) ended(x job, all []*placed, results []*sweep.Result) error {
	switch {
	case x.err != nil:
		return x.err
	case x.code != 0: // it has said why
		return &fault{code: x.code, err: errors.New("a point has ended early"), silent: true}
	}
	p := all[x.at]
	r, err := sweep.Load(s.f.output, p.Number)
	if err == nil && r == nil {
		err = fmt.Errorf("point %d has left no result", p.Number)
	}
	if err != nil {
		return fileError(err)
	}
	results[x.at] = r
	return nil
}

// planFile is the file with the plan of a point's group, which is written where it is
// needed first.
func (s *sweeping) planFile(folder string, p *placed) (string, error) {
	file := filepath.Join(folder, strconv.Itoa(p.group.number)+".bin")
	if p.group.written {
		return file, nil
	}
	plan, err := s.compile(p.group)
	if err != nil {
		return "", err
	}
	data, err := program.Encode(plan)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", fileError(wrapWrite(folder, err))
	}
	p.group.written = true
	return file, s.writeFile(file, data)
}

// child is the command that runs a point.
func (s *sweeping) child(p *placed, plan string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	f := s.f
	args := []string{"sweep", s.path, "-o", f.output, "--point", strconv.Itoa(p.Number), "--plan", plan}
	for _, x := range f.over {
		args = append(args, "--over", x)
	}
	for _, x := range f.set {
		args = append(args, "--set", x)
	}
	for _, x := range [][2]string{{"--layout", f.layout}, {"--target", f.target}, {"--imports-below", f.importsBelow}, {"--checkpoint", f.checkpoint}} {
		if x[1] != "" {
			args = append(args, x[0], x[1])
		}
	}
	threads := f.threads
	if threads == 0 {
		threads = max(1, processors.Count()/f.jobs)
	}
	args = append(args, "--threads", strconv.Itoa(threads), "--requeue-exit-code", strconv.Itoa(f.requeue))
	if f.steps > 0 {
		args = append(args, "--steps", strconv.FormatInt(f.steps, 10))
	}
	if f.every > 0 {
		args = append(args, "--every", strconv.FormatInt(f.every, 10))
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = s.err
	apart(cmd)
	return cmd
}

// start starts a process, unless the sweep has been told to end.
func (j *jobs) start(at, point int, cmd *exec.Cmd) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return false
	}
	if err := cmd.Start(); err != nil {
		go func() { j.done <- job{at: at, err: fileError(err)} }()
		return true
	}
	j.under[point] = cmd
	go func() {
		err := cmd.Wait()
		j.mu.Lock()
		delete(j.under, point)
		j.mu.Unlock()
		x := job{at: at, code: cmd.ProcessState.ExitCode()}
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			x.err = fileError(err)
		} else if x.code < 0 { // by a signal
			x.code = exitInterrupt
		}
		j.done <- x
	}()
	return true
}

// stop has no further process start; it says whether that was so already.
func (j *jobs) stop() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	was := j.ended
	j.ended = true
	return was
}

func (j *jobs) stopped() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended
}

// signal is the one that ended the sweep.
func (j *jobs) signal() os.Signal {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.told
}

// end passes a signal on to all processes, and has no further one start.
func (j *jobs) end(sig os.Signal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended, j.told = true, sig
	for _, cmd := range j.under {
		if cmd.Process.Signal(sig) != nil {
			_ = cmd.Process.Kill() // where there are no such signals; it may have ended
		}
	}
}
