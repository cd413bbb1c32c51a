package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ptc/internal/diag"
	"ptc/runtime/live"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
	"ptc/runtime/report"
)

// logFlag is --log, which may be given again: how the standard output is told, and sinks
// besides, each kind:target.
type logFlag struct {
	output choice
	sinks  []sinkFlag
}

type sinkFlag struct {
	kind   metrics.Kind
	target string
}

func newLogFlag() logFlag {
	return logFlag{output: choice{value: "text", words: []string{"text", "json"}}}
}

func (f *logFlag) String() string { return f.output.value }
func (f *logFlag) Type() string   { return "sink" }

func (f *logFlag) Set(s string) error {
	name, target, ok := strings.Cut(s, ":")
	if !ok {
		if f.output.Set(s) == nil {
			return nil
		}
	}
	for _, k := range metrics.Kinds() {
		if k.Name != name {
			continue
		}
		if target == "" {
			return fmt.Errorf("%s takes a target, as %s:%s", name, name, k.Target)
		}
		for _, s := range f.sinks { // two of them would write between one another's lines
			if k.Target != "ADDR" && filepath.Clean(s.target) == filepath.Clean(target) {
				return fmt.Errorf("%s is told already, by %s:%s", target, s.kind.Name, s.target)
			}
		}
		f.sinks = append(f.sinks, sinkFlag{k, target})
		return nil
	}
	err := fmt.Errorf("expected %s", diag.OneOf(f.words()))
	if hint := diag.DidYouMean(s, f.words()); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return err
}

// words are what the flag takes, targets left out.
func (f *logFlag) words() []string {
	words := append([]string{}, f.output.words...)
	for _, k := range metrics.Kinds() {
		words = append(words, k.Name+":"+k.Target)
	}
	return words
}

// completions are the words as the shell offers them.
func (f *logFlag) completions() []string {
	words := append([]string{}, f.output.words...)
	for _, k := range metrics.Kinds() {
		words = append(words, k.Name+":")
	}
	return words
}

// logs are the sinks of a run, each with its name for errors.
type logs struct {
	metrics.Sink
	all   []metrics.Sink
	names []string
	made  []freshLog
}

// openLogs opens what the run is told to. Of several processes the one with rank 0 tells.
func (a *app) openLogs(f *logFlag, serve string, plan *program.Plan, rank int) (*logs, error) {
	l := &logs{}
	l.add("the standard output", a.sink(f.output.value))
	var err error
	if rank == 0 {
		err = a.openSinks(l, f.sinks, serve, plan)
	}
	if err != nil {
		l.Close()
		l.forget()
		return nil, err
	}
	l.Sink = metrics.Multi(l.all...)
	return l, nil
}

func (a *app) openSinks(l *logs, sinks []sinkFlag, serve string, plan *program.Plan) error {
	for _, s := range sinks {
		fresh := freshOf(s)
		sink, err := s.kind.Open(s.target)
		l.made = append(l.made, fresh.opened())
		if err != nil {
			return fileError(fmt.Errorf("--log %s:%s: %w", s.kind.Name, s.target, err))
		}
		if at, ok := sink.(listener); ok {
			fmt.Fprintf(a.err, "metrics at http://%s/metrics%s\n", at.Addr(), openTo(at))
		}
		l.add(s.kind.Name+":"+s.target, sink)
	}
	if serve == "" {
		return nil
	}
	d := report.Of(plan)
	p := live.Plan{Name: plan.Name, Layout: plan.Layout, Target: plan.Target, Arena: d.Report.Verdict.Arena, Idle: d.Report.Verdict.Idle}
	if d.Roofline != nil {
		p.LeastMs = d.Roofline.StepMs
	}
	s, err := live.Serve(serve, p)
	if err != nil {
		return fileError(fmt.Errorf("--serve: %w", err))
	}
	fmt.Fprintf(a.err, "this run is shown at http://%s/%s\n", s.Addr(), openTo(s))
	l.add("--serve "+serve, s)
	return nil
}

// listener is a sink that answers requests.
type listener interface {
	Addr() string
	Open() bool
}

// openTo warns of an address that is not of this machine alone.
func openTo(s listener) string {
	if s.Open() {
		return " (open: whoever reaches this machine can read it)"
	}
	return ""
}

func (l *logs) add(name string, s metrics.Sink) {
	l.all, l.names = append(l.all, s), append(l.names, name)
}

// Close closes all of them and gives the first error of each, by its name.
func (l *logs) Close() error {
	var errs []error
	for i, s := range l.all {
		if err := wrapWrite(l.names[i], s.Close()); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// forget removes the files of sinks that are closed and were told nothing.
func (l *logs) forget() {
	for _, f := range l.made {
		f.forget()
	}
}

// sink tells a run on the standard output.
func (a *app) sink(log string) metrics.Sink {
	if log == "json" {
		return metrics.NewJSON(struct{ io.Writer }{a.out}) // not ours to close
	}
	if f, ok := a.out.(*os.File); ok {
		return metrics.NewTerminal(f)
	}
	return metrics.NewLines(a.out)
}

// sinkHelp lists the kinds of sinks.
func sinkHelp() string {
	var out []string
	for _, k := range metrics.Kinds() {
		out = append(out, fmt.Sprintf("%s:%s (%s)", k.Name, k.Target, k.Doc))
	}
	return strings.Join(out, ",\n")
}
