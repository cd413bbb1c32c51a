package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"ptc/compiler"
	"ptc/foresight/certificate"
	"ptc/foresight/forecast"
	"ptc/foresight/machine"
	"ptc/foresight/search"
	"ptc/runtime/program"
	"ptc/runtime/report"
)

// autoResult is what `ptc layout auto` prints as JSON, and `ptc report --search` reads.
type autoResult struct {
	Version   int                     `json:"version"`
	Ptc       string                  `json:"ptc"`
	Config    [][2]string             `json:"config"` // of the model
	Layout    string                  `json:"layout"`
	Text      string                  `json:"text"`
	Path      string                  `json:"path"` // of the layout in the tree of the space
	Machine   string                  `json:"machine"`
	Hash      string                  `json:"machine_sha256"`
	StepS     float64                 `json:"step_s"`
	StepPS    int64                   `json:"step_ps"`
	Memory    int64                   `json:"memory_bytes"`
	Devices   int                     `json:"devices"`
	USD       float64                 `json:"usd,omitempty"` // of a step
	Gap       float64                 `json:"gap"`
	Probes    int                     `json:"probes"`
	Leaves    map[certificate.Why]int `json:"leaves"`
	Losers    []search.Loser          `json:"nearest"`
	Front     []search.Point          `json:"front"`
	Sensitive []sensitive             `json:"sensitivity,omitempty"`
}

// resultVersion is that of the JSON form. Fields may be added within a version.
const resultVersion = 1

// result is what a search found, for programs.
func (s *subject) result(found *search.Found, cert *certificate.Certificate) *autoResult {
	price := priceOf(s.cluster)
	return &autoResult{Version: resultVersion, Ptc: compiler.Version, Config: s.prober.Config(), Layout: s.auto.Name, Text: found.Layout, Path: found.Best.Path(),
		Machine: forecast.Spec(s.cluster), Hash: s.cluster.Hash, StepS: found.Step.Seconds(), StepPS: int64(found.Step), Memory: found.Bytes,
		Devices: found.Best.Devices, USD: price * float64(found.Best.Devices) * found.Step.Seconds(), Gap: found.Gap(), Probes: found.Probes,
		Leaves: search.Counts(cert), Losers: search.Losers(cert), Front: search.Front(cert, price)}
}

// priceOf is what a device costs, in USD/s; 0 if the machine does not say.
func priceOf(c *machine.Cluster) float64 {
	if !c.Price.Given() {
		return 0
	}
	return c.Price.Value
}

// writeResult writes a result to a file.
func (a *app) writeResult(path string, r *autoResult) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return a.writeFile(path, append(text, '\n'))
}

// mostResult is the largest result that is read, in bytes.
const mostResult = 8 << 20

// readResult reads a result.
func (a *app) readResult(path string) (*autoResult, error) {
	text, err := a.readText(path, mostResult)
	if err != nil {
		return nil, err
	}
	r := &autoResult{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, inputf("%s is no result of a search: %w; `ptc layout auto --result FILE` writes one", path, err)
	}
	switch {
	case r.Machine == "" || r.StepS <= 0 || r.Text == "":
		return nil, inputf("%s is no result of a search; `ptc layout auto --result FILE` writes one", path)
	case r.Version != resultVersion:
		return nil, inputf("%s has version %d; this ptc reads version %d", path, r.Version, resultVersion)
	}
	return r, nil
}

// named is the machine of a result in the file path, if ptc knows it by name.
func (r *autoResult) named(path string) (string, error) {
	name, _ := machine.Split(r.Machine)
	if _, err := machine.Named(name); err != nil {
		return "", inputf("%s is of a search on %s, which a file describes: give that file with --machine FILE:LEVELS", path, r.Machine)
	}
	return r.Machine, nil
}

// searched compares a plan, with its forecast, with the result of a search for the same model and machine.
func (r *autoResult) searched(path string, f *foreseen) (*report.Search, error) {
	switch spec := forecast.Spec(f.cluster); {
	case spec != r.Machine || f.cluster.Hash != r.Hash:
		return nil, inputf("%s is of a search on %s, whose description has the SHA-256 %s; the forecast is on %s, with %s", path, r.Machine, r.Hash, spec, f.cluster.Hash)
	case r.differs(f.plan) != "":
		return nil, inputf("%s is of a search for another config: %s", path, r.differs(f.plan))
	}
	s := &report.Search{Machine: r.Machine, Text: r.Text, Gap: r.Gap, Front: []report.SearchPoint{}, Nearest: []report.SearchLoser{},
		Best: report.SearchPoint{Layout: r.Path, StepS: r.StepS, Bytes: r.Memory, Devices: r.Devices, USD: r.USD},
		Plan: report.SearchPoint{Layout: f.plan.Layout, StepS: f.StepS, Devices: f.plan.Mesh.Ranks()}}
	for i := range f.plan.Devices {
		s.Plan.Bytes = max(s.Plan.Bytes, f.plan.Devices[i].Arena)
	}
	s.Plan.USD = priceOf(f.cluster) * float64(s.Plan.Devices) * f.StepS
	for _, p := range r.Front {
		s.Front = append(s.Front, report.SearchPoint{Layout: p.Layout, StepS: float64(p.PS) / 1e12, Bytes: p.Bytes, Devices: p.Devices, USD: p.USD})
	}
	for _, l := range r.Losers {
		s.Nearest = append(s.Nearest, report.SearchLoser{Choice: l.String(), StepS: float64(l.PS) / 1e12, AtLeast: l.AtLeast})
	}
	return s, nil
}

// differs says in which entry of the config a plan is of another model; empty if in none.
func (r *autoResult) differs(p *program.Plan) string {
	own := map[string]string{}
	for _, kv := range p.Config {
		own[kv.Key] = kv.Value
	}
	for _, kv := range r.Config {
		switch v, ok := own[kv[0]]; {
		case !ok:
			return fmt.Sprintf("the plan has no %s", kv[0])
		case v != kv[1]:
			return fmt.Sprintf("%s is %s; in the plan it is %s", kv[0], kv[1], v)
		}
	}
	for _, kv := range p.Config {
		if !slices.ContainsFunc(r.Config, func(x [2]string) bool { return x[0] == kv.Key }) {
			return fmt.Sprintf("it has no %s, which the plan has", kv.Key)
		}
	}
	return ""
}
