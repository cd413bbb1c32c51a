package report

import (
	"encoding/json"
	"strings"
	"testing"
)

// searchOf is what a search might have found, with this text in each place that has one.
func searchOf(text string) *Search {
	return &Search{Machine: "h100:1x8" + text, Text: "layout best {\n}" + text, Gap: 0.015,
		Best: SearchPoint{"8/dp8" + text, 0.5, 8 << 30, 8, 0.0025}, Plan: SearchPoint{"mine" + text, 0.75, 6 << 30, 8, 0.00375},
		Front:   []SearchPoint{{"8/dp8" + text, 0.5, 8 << 30, 8, 0.0025}, {"8/dp4 tp2" + text, 0.6, 4 << 30, 8, 0.003}},
		Nearest: []SearchLoser{{"tp = 2 for 1" + text, 0.6, false}, {"zero = 3 for 1", 0.55, true}}}
}

// TestSearch: the page compares the plan with the best layout, and draws the front, in the document too.
func TestSearch(t *testing.T) {
	page, err := Page(planOf(t, "pipe"), Extra{Search: searchOf("")})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`href="#search"`, `takes <b>0.5 s</b> a step and 8.00 GiB of a device; the search was ended early, and the best of its space may be up to 1.5% faster. This plan takes 50% longer.`,
		`<tr class="better"><th scope="row">step</th><td class="n">0.75 s</td><td class="n">0.5 s</td><td class="n change">-33.3%</td></tr>`,
		`<tr class="worse"><th scope="row">memory of a device</th><td class="n">6.00 GiB</td><td class="n">8.00 GiB</td>`,
		`<polyline class="reach" fill="none" points="596,196 70,127.2"/>`,
		`<circle class="best" cx="596" cy="196" r="5"><title>best: 8/dp8: 0.5 s, 8.00 GiB, 8 devices, 0.0025 USD</title></circle>`,
		`<circle class="own" cx="333" cy="24" r="5"><title>this plan: 0.75 s, 6.00 GiB, 8 devices, 0.00375 USD</title></circle>`,
		`<th scope="row">zero = 3 for 1</th><td class="n">at least 0.55 s</td>`, "<code>layout best {\n}</code>",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(string(page), "Step and devices") || strings.Contains(string(page), "Step and money") {
		t.Error("a picture of figures that all layouts have alike")
	}
	var d Document
	if err := json.Unmarshal([]byte(documentIn(t, string(page))), &d); err != nil || d.Report.Search == nil || d.Report.Search.Front[1].Bytes != 4<<30 {
		t.Errorf("the document has the search %+v (%v)", d.Report.Search, err)
	}
	if without := pageOf(t, planOf(t, "pipe"), nil); strings.Contains(without, `id="search"`) || strings.Contains(without, `"search":`) {
		t.Error("a page without a search shows one")
	}
}

// TestSearchOverDevices: devices and money are drawn if layouts differ in them; a plan may be as fast as the best layout, or faster.
func TestSearchOverDevices(t *testing.T) {
	for _, c := range []struct {
		step, usd float64
		want      []string
	}{
		{0.5, 0.0025, []string{"This plan takes as long. ", "Step and devices", "Step and money a step", "; the search"}},
		{0.4, 0, []string{"This plan takes 20% less: it is outside of the space", "Step and devices"}},
	} {
		s := searchOf("")
		s.Plan.StepS, s.Plan.USD, s.Front[1].Devices = c.step, c.usd, 4
		page, err := Page(planOf(t, "pipe"), Extra{Search: s})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(page), want) {
				t.Errorf("%g s: the page lacks %q", c.step, want)
			}
		}
		_, text, _ := strings.Cut(string(page), `<section id="search"`)
		text, _, _ = strings.Cut(text, "</section>")
		if strings.Contains(text, "Step and money") != (c.usd > 0) || strings.Contains(text, "NaN") {
			t.Errorf("%g s: money of a machine without prices, or a place that is no number", c.step)
		}
	}
}

// TestHostileSearch: texts of a search are shown as text.
func TestHostileSearch(t *testing.T) {
	page, err := Page(planOf(t, "pipe"), Extra{Search: searchOf(`</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&`)})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(page), "<script>alert") || strings.Contains(string(page), "<img") || strings.Count(string(page), "<script") != 2 || strings.Count(string(page), "</script") != 2 {
		t.Error("a text is markup")
	}
}
