package main

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/foresight/certificate"
	"ptc/foresight/certify"
	"ptc/internal/units"
	"ptc/runtime/program"
)

func newLayoutVerify(a *app) *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "verify FILE CERTIFICATE [--layout NAME]",
		Short: "Check why a layout is the best for a machine",
		Long: `Check a certificate of "ptc layout auto": that its parts cover the space of the auto layout,
and the reason of each part anew. Bounds are computed by formulas that share nothing with
the search, every block and every layout that was simulated is compiled and simulated again,
and the best one, with all within 1% of it, is compiled in full. Each number must be equal
to the verifier's own.

The compiler, the cost model and the simulator are trusted. A certificate that is wrong in
anything is an error, which says where.`,
		Example:           `  ptc layout verify gpt.ptl --layout best found.json`,
		Args:              exactly("FILE", "CERTIFICATE"),
		ValidArgsFunction: completeFiles("ptl", "json"),
	}
	f.addSource(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.layoutVerify(args[0], args[1], &f) }
	return cmd
}

func (a *app) layoutVerify(path, file string, f *sourceFlags) error {
	collectLess()
	s, u, err := a.autoSubject(path, f)
	if err != nil {
		return err
	}
	c, err := a.readCertificate(file)
	if err != nil {
		return err
	}
	v, err := certify.Verify(c, &certify.Given{
		Facts: s.facts, Cluster: s.cluster, Auto: s.auto, Source: hex.EncodeToString(s.source[:]), Imports: s.imports(), Ptc: compiler.Version, Config: s.prober.Config(),
		Probe: s.prober.Plan,
		Compile: func(text string) (*program.Plan, error) {
			o := u.opts
			o.Source, o.Layout = []byte(s.prober.With(s.auto.Name, text)), s.auto.Name
			p, _, err := compiler.Compile(o)
			return p, err
		},
	}, a.verifying())
	var no *certify.Fault
	switch {
	case errors.As(err, &no) && no.Import != "":
		return s.refused(u, file, err)
	case errors.As(err, &no):
		return inputf("%s: the certificate does not hold: %w", file, err)
	case err != nil:
		return inputf("%s: %w", path, err)
	}
	return a.print(verdictOf(v))
}

// verdictOf says what was found to be true.
func verdictOf(v *certify.Verdict) string {
	n := v.Leaves
	text := fmt.Sprintf("the certificate holds: %d parts of the space, %d layouts simulated, %d parts slower, %d too large, %d refused\n",
		n[certificate.Exact]+n[certificate.Bound]+n[certificate.Over]+n[certificate.Illegal], n[certificate.Exact], n[certificate.Bound], n[certificate.Over], n[certificate.Illegal])
	text += fmt.Sprintf("%d layouts were compiled without code, %d in full\n", v.Probes, v.Compiled)
	if v.Winner == nil {
		return text + "no layout of the space fits\n"
	}
	return text + fmt.Sprintf("the best one takes %.6g s a step and %s on a device\n", float64(v.Winner.PS)/1e12, units.Bytes(v.Winner.Bytes))
}
