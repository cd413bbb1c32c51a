package metrics

import (
	"fmt"
	"math"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// Prom answers Prometheus with the latest figures of a run, in its text format
// ("Exposition formats", version 0.0.4). That is a line for each of a dozen numbers; a
// client library would bring a registry, a collector and its own dependencies for it.
type Prom struct {
	server *Server
	mu     sync.Mutex
	model  string // the labels of all figures
	values map[string]float64
	waits  []float64 // by rank
	// The metrics of the last step and of the last validation.
	steps, validations []Figure
}

// waitSeconds has a line for each device.
const waitSeconds = "ptc_wait_seconds"

// The figures that a train block names.
const (
	stepMetric       = "ptc_metric"
	validationMetric = "ptc_validation_metric"
)

// promHelp says what each figure is, all of them gauges.
var promHelp = map[string]string{
	"ptc_step":                     "The last step that is done.",
	"ptc_last_step":                "The step that training goes to.",
	"ptc_loss":                     "The loss of the last step.",
	"ptc_validation_loss":          "The loss of the last validation.",
	"ptc_grad_norm":                "The norm of the gradients of the last step, before clipping.",
	"ptc_learning_rate":            "The learning rate of the last step.",
	"ptc_loss_scale":               "The scale of the loss of the next step.",
	"ptc_step_seconds":             "The time of the last step.",
	"ptc_tokens_per_second":        "Tokens a second, of the last step.",
	"ptc_checkpoint_step":          "The step of the last checkpoint.",
	"ptc_warnings":                 "Warnings so far.",
	"ptc_flops_per_step":           "Floating-point operations of a step, of all devices.",
	"ptc_peak_flops_per_second":    "Floating-point operations a second that the devices do at most.",
	"ptc_parameters":               "Elements of all parameters.",
	"ptc_devices":                  "Devices of the run.",
	"ptc_tokens_per_step":          "Tokens of a batch.",
	stepMetric:                     "A metric of the train block, of the last step.",
	validationMetric:               "A metric of the train block, of the last validation.",
	waitSeconds:                    "How long a device was blocked in communication in the last step, mostly waiting; the slowest least.",
	"ptc_share_of_peak_arithmetic": "Share of the most that the devices do.",
}

func openProm(addr string) (Sink, error) {
	p := &Prom{values: map[string]float64{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprint(w, p.text())
	})
	var err error
	p.server, err = Listen(addr, mux)
	return p, err
}

// Addr is where it listens.
func (p *Prom) Addr() string { return p.server.Addr() }

// Open says whether other machines reach it.
func (p *Prom) Open() bool { return p.server.Open() }

// text is the figures in the order of their names.
func (p *Prom) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := make([]string, 0, len(p.values)+1)
	for n := range p.values {
		names = append(names, n)
	}
	if p.waits != nil {
		names = append(names, waitSeconds)
	}
	if len(p.steps) > 0 {
		names = append(names, stepMetric)
	}
	if len(p.validations) > 0 {
		names = append(names, validationMetric)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", n, promHelp[n], n)
		labelled := func(label string, v float64) { p.line(&b, n, strings.TrimPrefix(p.model+","+label, ","), v) }
		switch n {
		case waitSeconds:
			for rank, v := range p.waits {
				labelled(fmt.Sprintf(`rank="%d"`, rank), v)
			}
		case stepMetric:
			for _, f := range p.steps {
				labelled(fmt.Sprintf(`metric="%s"`, f.Name), f.Value)
			}
		case validationMetric:
			for _, f := range p.validations {
				labelled(fmt.Sprintf(`metric="%s"`, f.Name), f.Value)
			}
		default:
			p.line(&b, n, p.model, p.values[n])
		}
	}
	return b.String()
}

// line writes a figure.
func (p *Prom) line(b *strings.Builder, name, labels string, v float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(b, "%s%s %s\n", name, labels, strconv.FormatFloat(v, 'g', -1, 64))
}

// Tell notes the figures of an event.
func (p *Prom) Tell(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := func(name string, v float64) { p.values[name] = v }
	known := func(name string, v float64) {
		if v != 0 {
			set(name, v)
		}
	}
	computed := func(name string, v float64, no bool) {
		if set(name, v); no {
			delete(p.values, name)
		}
	}
	switch e := e.(type) {
	case *Start:
		p.model = fmt.Sprintf(`model="%s",layout="%s"`, promLabel.Replace(e.Name), promLabel.Replace(e.Layout))
		set("ptc_last_step", float64(e.Last))
		known("ptc_devices", float64(e.Devices))
		known("ptc_parameters", float64(e.Params))
		known("ptc_tokens_per_step", float64(e.TokensPerStep))
		known("ptc_flops_per_step", e.FlopsPerStep)
		known("ptc_peak_flops_per_second", e.PeakFlops)
	case *Step:
		set("ptc_step", float64(e.Step))
		set("ptc_loss", e.Loss)
		computed("ptc_grad_norm", e.GradNorm, e.NoGradNorm)
		computed("ptc_learning_rate", e.LR, e.NoLR)
		known("ptc_loss_scale", e.LossScale)
		p.steps = append(p.steps[:0], e.Metrics...)
		set("ptc_step_seconds", e.Ms/1e3)
		set("ptc_tokens_per_second", e.TokensPerS)
		if p.waits = p.waits[:0]; len(e.WaitMs) == 0 {
			p.waits = nil
		}
		for _, v := range e.WaitMs {
			p.waits = append(p.waits, v/1e3)
		}
		if peak := p.values["ptc_peak_flops_per_second"]; peak > 0 && e.Ms > 0 {
			known("ptc_share_of_peak_arithmetic", p.values["ptc_flops_per_step"]/(e.Ms/1e3)/peak)
		}
	case *Validation:
		set("ptc_validation_loss", e.Loss)
		p.validations = append(p.validations[:0], e.Metrics...)
	case *End:
		if !math.IsNaN(e.ValLoss) {
			set("ptc_validation_loss", e.ValLoss)
			p.validations = append(p.validations[:0], e.Metrics...)
		}
	case *Checkpoint:
		set("ptc_checkpoint_step", float64(e.Step))
	case *Warning:
		set("ptc_warnings", p.values["ptc_warnings"]+1)
	}
}

// promLabel escapes the value of a label.
var promLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Close stops listening.
func (p *Prom) Close() error { return p.server.Close() }
