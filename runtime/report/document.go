package report

import (
	"encoding/json"

	"ptc/runtime/explain"
	"ptc/runtime/program"
	"ptc/runtime/timeline"
)

// Version is that of the JSON form of a [Report]. Fields may be added within a version;
// none changes its name or meaning.
const Version = 1

// Document is all that there is to say of a plan, for programs.
type Document struct {
	*explain.Description
	Report Report `json:"report"`
}

// Report is what pictures of a plan need besides its description.
type Report struct {
	Version   int                `json:"version"`
	Verdict   Verdict            `json:"verdict"`
	Mesh      []Axis             `json:"mesh"`
	Classes   []Class            `json:"device_classes"` // in the order of those of the description
	Shardings []Sharding         `json:"shardings"`
	Timeline  *timeline.Timeline `json:"timeline,omitempty"` // of a pipeline
	Memory    *Map               `json:"memory_map,omitempty"`
	// NoMemory says why there is no map.
	NoMemory string `json:"no_memory_map,omitempty"`
	Texts    []Text `json:"texts"`
	// Measured is what a run of the plan took, where a profile says that.
	Measured *Measured `json:"measured,omitempty"`
	// Forecast is what a simulation predicts on a machine, where one was asked for.
	Forecast *Forecast `json:"forecast,omitempty"`
	// Search is what a search over layouts found, where a result of one was given.
	Search *Search `json:"search,omitempty"`
}

// Verdict is what one wants to know first.
type Verdict struct {
	Arena int64 `json:"arena_bytes"` // of the device that needs most
	// Device is what the layout says that a device has; 0 where it does not.
	Device int64 `json:"device_bytes"`
	Fits   bool  `json:"fits"` // in Device bytes, or nothing says how many there are
	// Idle is the share of the devices' time in which they wait for one another, if all
	// stages of the pipeline take the same time; 0 without a pipeline.
	Idle  float64 `json:"idle_share"`
	Sends int64   `json:"bytes_sent"` // in a step, by the device that has most
}

// Text is a source.
type Text struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Of reads a plan.
func Of(p *program.Plan) *Document {
	d := &Document{Description: explain.Describe(p)}
	r := &d.Report
	r.Version = Version
	r.Mesh, r.Classes, r.Shardings = meshOf(p), classesOf(p), shardings(p)
	r.Timeline = timeline.Of(p)
	r.Memory, r.NoMemory = mapOf(p)
	r.Texts = []Text{}
	for _, s := range p.Sources {
		r.Texts = append(r.Texts, Text{s.Name, s.Text})
	}
	r.Verdict = Verdict{Device: p.Memory, Sends: d.Sends.Bytes, Idle: d.Idle}
	for i := range p.Devices {
		r.Verdict.Arena = max(r.Verdict.Arena, p.Devices[i].Arena)
	}
	r.Verdict.Fits = p.Memory == 0 || r.Verdict.Arena <= p.Memory
	return d
}

// JSON is the document on one line.
func (d *Document) JSON() ([]byte, error) { return json.Marshal(d) }
