package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/foresight/certificate"
	"ptc/foresight/certify"
	"ptc/foresight/facts"
	"ptc/foresight/forecast"
	"ptc/foresight/machine"
	"ptc/foresight/search"
	"ptc/internal/diag"
	"ptc/internal/units"
	"ptc/ir/auto"
)

const layoutAutoLong = `Find the best layout of a model for a machine: that with the least step time, or another
objective, of all in the space that an auto layout describes. The machine need not be
there: layouts are compiled without code and simulated, as "ptc simulate" does.

The search is exact. It divides the space until no part that is left can hold a better
layout, as the least time of a part, the simulator's own sum with something left out,
says. --certificate writes why: every part with its reason, for "ptc layout verify".

With -o the source is written with the layout that was found before its others, in the
place of the auto layout. Ctrl-C ends the search with the best layout so far and the gap
to the best that there could be; --resume goes on from its certificate.

--result writes the result for "ptc report --search", which compares a plan of the model with
the best layout, and draws which layouts no other one beats in time, memory, devices and money.`

// autoFlags are those of `ptc layout auto`.
type autoFlags struct {
	sourceFlags
	out, certificate, resume, result string
	asJSON, sensitivity              bool
}

func newLayoutAuto(a *app) *cobra.Command {
	var f autoFlags
	cmd := &cobra.Command{
		Use:   "auto FILE [--layout NAME] [-o OUT]",
		Short: "Find the best layout for a machine",
		Long:  layoutAutoLong,
		Example: `  ptc layout auto gpt.ptl --layout best -o found.ptl --certificate found.json
  ptc layout verify gpt.ptl --layout best found.json
  ptc layout auto gpt.ptl --layout best --result result.json && ptc report plan.bin --search result.json`,
		Args:              exactly("FILE"),
		ValidArgsFunction: completeFiles("ptl"),
	}
	f.addSource(cmd)
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "output", "o", "", "write the source with the layout to `OUT`")
	fl.StringVar(&f.certificate, "certificate", "", "write to `FILE` why no layout of the space is better")
	fl.StringVar(&f.resume, "resume", "", "go on from the certificate `FILE` of a search that was interrupted")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON")
	fl.StringVar(&f.result, "result", "", "write that JSON to `FILE`, for \"ptc report --search\"")
	fl.BoolVar(&f.sensitivity, "sensitivity", false, "also search for machines whose rates are 10% lower and higher")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.layoutAuto(args[0], &f) }
	return cmd
}

// addSource adds the flags of a source whose target the machine says.
func (f *sourceFlags) addSource(cmd *cobra.Command) {
	f.add(cmd)
	if err := cmd.Flags().MarkHidden("target"); err != nil {
		panic(err) // the flag does not exist
	}
}

// subject is a source with an auto layout.
type subject struct {
	prober  *compiler.Prober
	auto    *auto.Layout
	cluster *machine.Cluster
	facts   *facts.Facts
	source  [32]byte
	report  *compiler.Report // has the text of sources
}

// autoSubject reads a source and its auto layout.
func (a *app) autoSubject(path string, f *sourceFlags) (*subject, *unit, error) {
	u, err := a.openUnit(path, f.importsBelow)
	if err != nil {
		return nil, nil, err
	}
	name := f.layout
	f.apply(&u.opts)
	u.opts.Layout, u.opts.Target = "", "ref"
	prober, r, err := compiler.NewProber(u.opts)
	if err != nil {
		return nil, nil, compileError(err, u.sources(r))
	}
	s := &subject{prober: prober, source: sha256.Sum256(u.opts.Source), report: r}
	if s.auto, err = prober.Auto(name); err != nil {
		return nil, nil, compileError(err, u.sources(r))
	}
	if s.cluster, err = a.clusterOf(u, s.auto); err != nil {
		return nil, nil, err
	}
	if t := s.cluster.Device.Target; strings.HasPrefix(t, "cuda:") {
		u.opts.Forms = t
		if s.prober, r, err = compiler.NewProber(u.opts); err != nil {
			return nil, nil, compileError(err, u.sources(r))
		}
		s.report = r
	}
	mod, err := s.prober.Model(precisionOf(s.auto))
	if err != nil {
		return nil, nil, compileError(err, u.sources(r))
	}
	if s.facts, err = facts.Of(mod); err != nil {
		return nil, nil, inputf("%s: %w", path, err)
	}
	return s, u, nil
}

// precisionOf is a layout of one device with the precision of an auto layout.
func precisionOf(l *auto.Layout) string {
	text := "layout one { "
	for _, k := range l.Kept("precision") {
		text += k.Text
	}
	return text + " }"
}

// clusterOf is the machine of an auto layout.
func (a *app) clusterOf(u *unit, l *auto.Layout) (*machine.Cluster, error) {
	var m *machine.Machine
	var err error
	if l.File {
		m, err = a.readMachine(filepath.Join(u.dir, filepath.FromSlash(l.Machine)))
	} else {
		m, err = machine.Named(l.Machine)
	}
	if err != nil {
		return nil, at(u, l.MachinePos, err)
	}
	c, err := m.On(strings.Trim(strings.ReplaceAll(fmt.Sprint(l.Levels), " ", "x"), "[]"))
	if err != nil {
		return nil, at(u, l.MachinePos, err)
	}
	return c, nil
}

// at is an error with the place in the source that it is about.
func at(u *unit, pos diag.Pos, err error) error {
	var list diag.List
	if !errors.As(err, &list) || len(list) == 0 || list[0].Pos.IsValid() {
		return inputf("%s: %w", pos, err)
	}
	placed := *list[0]
	placed.Pos = pos
	return compileError(&placed, oneSource(u.opts.File, u.opts.Source))
}

func (a *app) layoutAuto(path string, f *autoFlags) error {
	collectLess()
	s, u, err := a.autoSubject(path, &f.sourceFlags)
	if err != nil {
		return err
	}
	space := &search.Space{Facts: s.facts, Cluster: s.cluster, Auto: s.auto}
	if f.resume != "" {
		if space.Known, err = a.readCertificate(f.resume); err != nil {
			return err
		}
		if err := s.matches(space.Known); err != nil {
			return s.refused(u, f.resume, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.signals.finish(func(os.Signal) { cancel() })
	defer a.signals.finish(nil)
	found, cert, err := search.Find(ctx, s.prober, space, s.auto.Name, a.searching())
	if err != nil {
		return inputf("%s: %w", path, err)
	}
	s.sign(cert)
	if f.certificate != "" {
		if err := a.writeFile(f.certificate, cert.Encode()); err != nil {
			return err
		}
	}
	switch {
	case found.Best == nil && ctx.Err() != nil:
		return inputf("%s: the search was interrupted before it had simulated a layout; with --certificate and --resume the next one goes on from here", path)
	case found.Best == nil:
		return nothingFits(path, s, found)
	}
	text := s.commented(found, cert)
	if f.out != "" {
		if err := a.writeFile(f.out, []byte(s.prober.With(s.auto.Name, text))); err != nil {
			return err
		}
	}
	r := s.result(found, cert)
	if f.sensitivity {
		if r.Sensitive, err = s.varied(ctx, found); err != nil {
			return inputf("%s: %w", path, err)
		}
	}
	if f.result != "" {
		if err := a.writeResult(f.result, r); err != nil {
			return err
		}
	}
	if f.asJSON {
		return a.printJSON(r)
	}
	if f.out == "" {
		return a.print(text + sensitiveText(r.Sensitive))
	}
	return a.print(summaryOf(s, found, cert) + sensitiveText(r.Sensitive))
}

// readCertificate reads a certificate.
func (a *app) readCertificate(path string) (*certificate.Certificate, error) {
	text, err := a.readText(path, certificate.Most)
	if err != nil {
		return nil, err
	}
	c, err := certificate.Decode(text)
	if err != nil {
		return nil, inputf("%s: %w", path, err)
	}
	return c, nil
}

// sign says what a certificate is of.
func (s *subject) sign(c *certificate.Certificate) {
	c.Ptc, c.Source, c.Config = compiler.Version, hex.EncodeToString(s.source[:]), s.prober.Config()
	c.Imports = s.imports()
}

// matches reports in what a certificate is of something else.
func (s *subject) matches(c *certificate.Certificate) error {
	x := *c
	s.sign(&x)
	switch {
	case c.Source != x.Source:
		return fmt.Errorf("the certificate is of another source")
	case !slices.Equal(c.Imports, x.Imports):
		return certify.Imported(c.Imports, x.Imports)
	case fmt.Sprint(c.Config) != fmt.Sprint(x.Config):
		return fmt.Errorf("the certificate is of another config")
	case c.Layout != s.auto.Name:
		return fmt.Errorf("the certificate is of the layout `%s`", c.Layout)
	case c.Machine.SHA256 != s.cluster.Hash:
		return fmt.Errorf("the certificate is of another machine")
	case c.Ptc != x.Ptc:
		return fmt.Errorf("the certificate is of ptc %s; this is %s", c.Ptc, x.Ptc)
	}
	return nil
}

// nothingFits is the error of a search that found nothing, with the least change that would fit.
func nothingFits(path string, s *subject, f *search.Found) error {
	room := search.Room(s.cluster, s.auto)
	if f.Closest == "" {
		return inputf("%s: the compiler refuses every layout of this space", path)
	}
	return inputf("%s: no layout of this space fits: a device has %s, and the layout with the least memory needs at least %s (%s). Allow more of what makes layouts smaller (tp, pp, zero, recompute, offload), or raise `limit memory`",
		path, units.Bytes(room), units.Bytes(f.Needs), f.Closest)
}

// commented is the layout that was found, with how good it is.
func (s *subject) commented(f *search.Found, c *certificate.Certificate) string {
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimRight(summaryOf(s, f, c), "\n"), "\n") {
		out.WriteString(strings.TrimRight("// "+line, " ") + "\n")
	}
	return out.String() + f.Layout
}

// summaryOf says how good a layout is, and which others come next.
func summaryOf(s *subject, f *search.Found, c *certificate.Certificate) string {
	var out strings.Builder
	n := search.Counts(c)
	fmt.Fprintf(&out, "%s on %s: %.6g s a step, %s of %s on a device.\n", s.auto.Name, forecast.Spec(s.cluster), f.Step.Seconds(), units.Bytes(f.Bytes), units.Bytes(search.Room(s.cluster, s.auto)))
	if f.Step == f.Least {
		fmt.Fprintf(&out, "It is the best of this space under this model, by %s; gap 0.\n", strings.Join(s.auto.Minimize, ", "))
	} else {
		fmt.Fprintf(&out, "It is the best so far; the best of this space may be up to %.2g%% faster.\n", 100*f.Gap())
	}
	fmt.Fprintf(&out, "%d layouts were simulated; parts of the space that are left out: %d slower, %d too large, %d refused.\n", n[certificate.Exact], n[certificate.Bound], n[certificate.Over], n[certificate.Illegal])
	if l := search.Losers(c); len(l) > 0 {
		out.WriteString("The next best with another choice:\n")
		for _, x := range l {
			at := ""
			if x.AtLeast {
				at = "at least "
			}
			fmt.Fprintf(&out, "  %-32s %s%.6g s (%+.2g%%)\n", x.String(), at, float64(x.PS)/1e12, 100*(float64(x.PS)/float64(f.Step)-1))
		}
	}
	return out.String()
}

// sensitive is what is best on a machine with another rate.
type sensitive struct {
	Rate   string  `json:"rate"`
	Factor float64 `json:"factor"`
	Layout string  `json:"layout"` // the best one's path
	Same   bool    `json:"same"`   // it is the layout that was found
	StepS  float64 `json:"step_s"`
}

// varied searches again on machines with other rates.
func (s *subject) varied(ctx context.Context, found *search.Found) (out []sensitive, err error) {
	p := search.Remembering(s.prober)
	for _, v := range forecast.Varied(s.cluster, s.facts.DTypes, 0.9, 1.1) {
		f, _, err := search.Find(ctx, p, &search.Space{Facts: s.facts, Cluster: v.Cluster, Auto: s.auto}, s.auto.Name, nil)
		if err != nil {
			return nil, err
		}
		if f.Best != nil {
			out = append(out, sensitive{v.Rate, v.Factor, f.Best.Path(), f.Best.Path() == found.Best.Path(), f.Step.Seconds()})
		}
	}
	return out, nil
}

func sensitiveText(all []sensitive) string {
	if len(all) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("\nOn machines with another rate:\n")
	for _, x := range all {
		what := "the same layout"
		if !x.Same {
			what = x.Layout
		}
		fmt.Fprintf(&out, "  %-24s x %.2g: %.6g s, %s\n", x.Rate, x.Factor, x.StepS, what)
	}
	return out.String()
}
