package checkpoint

import (
	"strings"
	"testing"
)

// phaseManifest is a manifest of a step with these phases.
func phaseManifest(t *testing.T, step int64, phases ...Phase) []byte {
	t.Helper()
	m := newManifest(Meta{Step: step, Phases: phases}, testTensors)
	m.Files, m.Sequence = []manifestFile{{Name: modelFile}, {Name: optimizerFile}}, 1
	text, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestPhases: phases that do not go with the step, or with each other, are damage.
func TestPhases(t *testing.T) {
	two := []Source{{Kind: "text", Share: 7000, Examples: 30}, {Kind: "text", Share: 3000, Examples: 10}}
	for want, text := range map[string][]byte{
		"":                            phaseManifest(t, 12, Phase{First: 1, Batch: 4, Examples: 40, Sources: two}, Phase{First: 11, Batch: 8, Examples: 16}),
		"starts with step 2":          phaseManifest(t, 12, Phase{First: 2, Batch: 4, Examples: 44}),
		"the phase ends with step 12": phaseManifest(t, 12, Phase{First: 1, Batch: 4, Examples: 40}),
		"starts with step 13":         phaseManifest(t, 12, Phase{First: 1, Batch: 1, Examples: 12}, Phase{First: 13, Batch: 1, Examples: 0}),
		"in batches of 0":             phaseManifest(t, 12, Phase{First: 1}),
		"in batches of 4611686":       phaseManifest(t, 4, Phase{First: 1, Batch: 1 << 62}),
		"with -1 of the 40":           phaseManifest(t, 10, Phase{First: 1, Batch: 4, Examples: 40, Sources: []Source{{Examples: -1}, {Examples: 41}}}),
		"with 30 of the 40":           phaseManifest(t, 10, Phase{First: 1, Batch: 4, Examples: 40, Sources: two[:1]}),
	} {
		_, err := decodeManifest(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	old := strings.Replace(string(phaseManifest(t, 1, Phase{First: 1, Batch: 1, Examples: 1})), `"format": 3`, `"format": 1`, 1)
	if _, err := decodeManifest([]byte(old)); err == nil {
		t.Error("a manifest of an older format has phases")
	}
}

// TestPhasesThatNobodyReads: what could not be read is not saved.
func TestPhasesThatNobodyReads(t *testing.T) {
	s, _ := newStore(t)
	if _, err := s.Begin(Meta{Step: 4, Phases: []Phase{{First: 2, Batch: 1, Examples: 3}}}, testTensors); err == nil || !strings.Contains(err.Error(), "starts with step 2") {
		t.Errorf("a checkpoint is begun: %v", err)
	}
}

// TestBestOfEachData: a loss on other data does not compare, and the best of each data is kept.
func TestBestOfEachData(t *testing.T) {
	loss := func(x float64) *float64 { return &x }
	entries := []Entry{{Step: 4, Dir: "4", readable: false, Valid: loss(0)}, {Step: 3, Dir: "3", Data: "b", Valid: loss(5), readable: true},
		{Step: 2, Dir: "2", Data: "b", readable: true}, {Step: 1, Dir: "1", Data: "a", Valid: loss(1), readable: true}}
	if e, ok := Best(entries); !ok || e.Step != 3 {
		t.Errorf("the best is %+v", e)
	}
	if !isBest(entries[3], entries) || isBest(entries[2], entries) {
		t.Error("the best of the data before is not kept")
	}
	if _, ok := BestOn("c", entries); ok {
		t.Error("there is a best one of data that was never validated")
	}
}
