//go:build browser

package report

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ptc/compiler"
	"ptc/foresight/forecast"
	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/runtime/live"
	"ptc/runtime/metrics"
	"ptc/runtime/profile"
	"ptc/runtime/program"
	"ptc/runtime/report"
)

const layout = `
layout tried { mesh dp = 2, pp = 2, tp = 2  shard batch over dp  shard heads, ffn, vocab over tp
  pipeline blocks over pp { schedule = 1f1b  microbatches = 4 }  zero 1 over dp  device memory = 1 GiB }
`

func planOf(t *testing.T) *program.Plan {
	t.Helper()
	text, err := os.ReadFile("../../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Source: append(text, layout...), Layout: "tried", Target: "ref",
		Set: []string{"layers=4", "embed=16", "heads=2", "head=8", "ffn=32", "vocab=16", "seq=8", "batch=8"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// browser is a tab, and what went wrong in it.
type browser struct {
	context.Context
	mu       sync.Mutex
	errors   []string
	requests []string
}

func open(t *testing.T, url string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1600, 1200))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	b := &browser{}
	listen := func(e any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			b.errors = append(b.errors, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			b.errors = append(b.errors, fmt.Sprintf("console.%s", e.Type))
		case *log.EventEntryAdded:
			b.errors = append(b.errors, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		}
	}
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithListener(listen))
	t.Cleanup(cancel)
	b.Context, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	b.do(t, enable(network.Enable, network.EnableParams{}), enable(log.Enable, cdp.Empty{}), chromedp.Navigate(url))
	return b
}

// enable is a command that has no result.
func enable[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval is the value of an expression in the page.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	out, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// clean holds that the console said nothing, and every request was for one of these.
func (b *browser) clean(t *testing.T, urls ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		t.Errorf("the console says: %s", e)
	}
	for _, r := range b.requests {
		if !slices.Contains(urls, r) && !strings.HasPrefix(r, "data:") {
			t.Errorf("a request of %s", r)
		}
	}
}

// whole holds that no text is cut: none of a picture is outside of it, none in a table is
// wider than its cell.
func (b *browser) whole(t *testing.T, width int64) {
	t.Helper()
	for _, text := range eval[[]string](t, b, `[...document.querySelectorAll("svg text")].filter((e) => {
		const r = e.closest("svg").getBoundingClientRect(), s = e.getBoundingClientRect();
		return s.width && (s.left < r.left - 1 || s.right > r.right + 1 || s.top < r.top - 1 || s.bottom > r.bottom + 1);
	}).concat([...document.querySelectorAll("th, td")].filter((e) => getComputedStyle(e).overflowX === "hidden" && e.scrollWidth > e.clientWidth)).map((e) => e.textContent)`) {
		t.Errorf("at %d pixels %q is cut", width, text)
	}
}

func TestCompared(t *testing.T) {
	text, err := os.ReadFile("../../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	q, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Layout: "fsdp", Target: "cuda",
		Source: append(text, "layout fsdp { mesh node = 2, dp = 2, tp = 2  shard batch over (node, dp)  shard heads, ffn over tp  zero 3 over (node, dp) }"...)})
	if err != nil {
		t.Fatal(err)
	}
	page, err := report.Page(q, report.Extra{Other: planOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	b := open(t, "file://"+file)
	for _, w := range []int64{400, 900, 1600} {
		b.do(t, chromedp.EmulateViewport(w, 1000), chromedp.Sleep(300*time.Millisecond))
		b.whole(t, w)
	}
	b.clean(t, "file://"+file)
}

func TestReport(t *testing.T) {
	p := planOf(t)
	page, err := report.Page(p, report.Extra{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	url := "file://" + file
	b := open(t, url)
	m := report.Of(p).Report.Memory
	t.Run("map", func(t *testing.T) { tryMap(t, b, p, m) })
	t.Run("timeline", func(t *testing.T) { tryTimeline(t, b, p) })
	t.Run("links", func(t *testing.T) { tryLinks(t, b, m) })
	t.Run("mesh", func(t *testing.T) {
		b.do(t, chromedp.Click(`#devices button:nth-child(2)`))
		if text := eval[string](t, b, `document.getElementById("device-detail").textContent`); !strings.Contains(text, "Device 1 at dp = 0, pp = 0, tp = 1") {
			t.Errorf("device 1 is %q", text)
		}
		b.do(t, chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll("[data-tensor]")].find((e) => e.textContent === "wte").click()`))
		shards := eval[string](t, b, `[...document.querySelectorAll("#devices button")].map((e) => e.textContent).join(" ")`)
		if shards != "0 1 – – 0 1 – –" { // the second stage gets it by messages
			t.Errorf("the shards of wte are on devices as %s", shards)
		}
	})
	t.Run("widths", func(t *testing.T) {
		for _, w := range []int64{400, 900, 1600} {
			b.do(t, chromedp.EmulateViewport(w, 1000), chromedp.Sleep(300*time.Millisecond))
			if wide := eval[int64](t, b, `document.documentElement.scrollWidth`); wide > w {
				t.Errorf("at %d pixels the page has %d", w, wide)
			}
			if drawn := eval[float64](t, b, `document.querySelector("#memory-map svg").getBoundingClientRect().width`); int64(drawn) > w {
				t.Errorf("at %d pixels the map has %g", w, drawn)
			}
			b.whole(t, w)
		}
	})
	b.clean(t, url)
}

// tryMap: the rectangles are the values of the plan, and the highest reaches the end of
// the arena.
func tryMap(t *testing.T, b *browser, p *program.Plan, m *report.Map) {
	values, bytes := 0, int64(0)
	for _, g := range m.Groups {
		values += g.Count
		bytes += int64(g.Count) * g.Bytes
	}
	drawn := eval[int](t, b, `[...document.querySelectorAll("#values path")].reduce((n, e) => n + e.getAttribute("d").split("M").length - 1, 0)`)
	if drawn != values || values != m.Values {
		t.Errorf("%d rectangles of %d values", drawn, m.Values)
	}
	sum := eval[int64](t, b, `(() => { const d = JSON.parse(document.getElementById("document").textContent).report.memory_map;
		return [...document.querySelectorAll("#values path")].reduce((n, e) => n + (e.getAttribute("d").split("M").length - 1) * d.groups[e.dataset.group].bytes, 0); })()`)
	if sum != bytes {
		t.Errorf("rectangles of %d bytes, and values of %d", sum, bytes)
	}
	edge := eval[float64](t, b, `document.getElementById("values").getBBox().y - document.getElementById("arena").y1.baseVal.value`)
	if math.Abs(edge) > 1 {
		t.Errorf("the highest rectangle ends %g pixels from the end of the arena", edge)
	}
	if m.Arena != p.Devices[m.Class].Arena {
		t.Errorf("an arena of %d bytes, and the plan's has %d", m.Arena, p.Devices[m.Class].Arena)
	}
}

// tryTimeline: the idle share is the bubble, and so are the gaps of the picture.
func tryTimeline(t *testing.T, b *browser, p *program.Plan) {
	bubble := ""
	for _, r := range p.Remarks {
		if found := regexp.MustCompile(`^@step: a bubble of ([0-9.]+%)`).FindStringSubmatch(r.Text); found != nil {
			bubble = found[1]
		}
	}
	if idle := eval[string](t, b, `document.getElementById("idle").textContent`); bubble == "" || idle != bubble {
		t.Errorf("idle for %s, and the bubble is %s", idle, bubble)
	}
	gaps := eval[float64](t, b, `(() => { const width = (s) => [...document.querySelectorAll("#gantt " + s)].reduce((n, e) => n + e.width.baseVal.value, 0);
		return 1 - width("rect.slot") / width('rect[fill^="url"]'); })()`)
	if text := fmt.Sprintf("%.1f%%", 100*gaps); text != bubble {
		t.Errorf("the gaps are %s of the picture, and the bubble is %s", text, bubble)
	}
}

// tryLinks: a rectangle leads to its line, a line to its rectangles, by mouse and by keys.
func tryLinks(t *testing.T, b *browser, m *report.Map) {
	chosen := `[...document.querySelectorAll(".code .chosen")].map((e) => e.closest("details").querySelector("summary").firstChild.textContent.trim() + ":" + e.id.split("-")[1]).join(" ")`
	hits := `document.querySelectorAll("#memory-map .hit").length`
	tried := 0
	for i, g := range m.Groups {
		source := m.Sites[g.Site].Source
		if source == "" || i%7 != 0 {
			continue
		}
		tried++
		b.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector('[data-group="%d"]').dispatchEvent(new MouseEvent("click", {bubbles: true}))`, i)))
		want := source[:strings.LastIndex(source, ":")]
		if got := eval[string](t, b, chosen); got != want {
			t.Errorf("a click on a value of %s chooses %q", want, got)
		}
	}
	if tried < 3 {
		t.Errorf("%d values were tried", tried)
	}
	b.do(t, chromedp.Focus("#memory-map"), chromedp.KeyEvent("\u001b"))
	if n := eval[int](t, b, hits); n != 0 {
		t.Errorf("Escape leaves %d rectangles chosen", n)
	}
	b.do(t, chromedp.KeyEvent("\u0301")) // any other key does nothing
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.getElementById("memory-map").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}))`))
	if n := eval[int](t, b, hits); n != 1 {
		t.Errorf("an arrow chooses %d rectangles", n)
	}
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector(".code li.has").click()`))
	if n := eval[int](t, b, hits); n == 0 {
		t.Error("a line chooses no rectangle")
	}
}

// TestForecast: the timeline is in true time, with the idle time and the exposed communication of the forecast.
func TestForecast(t *testing.T) {
	p := planOf(t)
	m, err := machine.Named("h100")
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.On("2x4")
	if err != nil {
		t.Fatal(err)
	}
	x, job, err := forecast.Of(p, c, forecast.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := x.Report(p, c, job, sim.How{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := report.Page(p, report.Extra{Forecast: f})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	b := open(t, "file://"+file)
	slots, idle, exposed := 0, 0.0, 0.0
	for _, r := range f.Timing.Rows {
		slots, idle, exposed = slots+len(r.Slots), idle+r.Idles/float64(len(f.Timing.Rows)), exposed+r.Exposed/float64(len(f.Timing.Rows))
	}
	if n := eval[int](t, b, `document.querySelectorAll("#gantt rect.slot").length`); n != slots || n == 0 {
		t.Errorf("%d slots are drawn of %d", n, slots)
	}
	const width = `const width = (s) => [...document.querySelectorAll("#gantt " + s)].reduce((n, e) => n + e.width.baseVal.value, 0), all = width('rect[fill^="url"]') - width("rect.gap");`
	if drawn := eval[float64](t, b, `(() => { `+width+` return 1 - (width("rect.slot") - width("rect.gap")) / all; })()`); math.Abs(drawn-idle) > 0.01 {
		t.Errorf("the picture is idle for %g, the forecast for %g", drawn, idle)
	}
	if drawn := eval[float64](t, b, `(() => { `+width+` return width("rect.exposed") / all; })()`); math.Abs(drawn-exposed) > 0.001 {
		t.Errorf("the picture has exposed communication for %g, the forecast for %g", drawn, exposed)
	}
	end := eval[[]float64](t, b, `[...document.querySelectorAll("#waterfall rect")].map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.right]).flat()`)
	for i := 2; i+2 < len(end); i += 2 {
		if math.Abs(end[i]-end[i-1]) > 2 {
			t.Errorf("bar %d begins at pixel %g, and the one before ends at %g", i/2, end[i], end[i-1])
		}
	}
	if n := len(end); n/2 != len(f.Causes)+1 || math.Abs(end[n-3]-end[n-1]) > 2 || math.Abs(end[0]-end[n-2]) > 2 {
		t.Errorf("%d bars of %d causes, at %v", n/2, len(f.Causes), end)
	}
	for _, w := range []int64{400, 900, 1600} {
		b.do(t, chromedp.EmulateViewport(w, 1000), chromedp.Sleep(300*time.Millisecond))
		if wide := eval[int64](t, b, `document.documentElement.scrollWidth`); wide > w {
			t.Errorf("at %d pixels the page has %d", w, wide)
		}
		b.whole(t, w)
	}
	b.clean(t, "file://"+file)
}

// TestMeasured: a ring is where a kernel was measured, below what the roofline allows.
func TestMeasured(t *testing.T) {
	p := planOf(t)
	c := profile.Ceilings{Threads: 1, Flops: 100, Read: 20}
	r := &profile.Report{Version: profile.Version, Model: p.Name, Layout: p.Layout, Target: p.Target, Steps: 3, StepMs: 4, ProfiledMs: 8,
		Ranks: []profile.Rank{{Ceilings: c, StepMs: 8, KernelMs: 6}}}
	rings := 0
	for i := range p.Kernels {
		k := &p.Kernels[i]
		w := profile.Work{Flops: k.Flops, Bytes: k.Bytes}
		ns := 10 * max(float64(k.Flops)/100, float64(k.Bytes)/20) // a tenth of the roofline
		r.Ranks[0].Kernels = append(r.Ranks[0].Kernels, profile.Kernel{Name: k.Name, Class: k.Class, Launches: 1, Ms: ns / 1e6, Flops: k.Flops, Bytes: k.Bytes, Rates: c.Rates(w, ns)})
		if k.Flops > 0 && k.Bytes > 0 && report.Of(p).Kernels[i].Launches > 0 {
			rings++
		}
	}
	page, err := report.Page(p, report.Extra{Measured: r})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.html")
	if err := os.WriteFile(file, page, 0o666); err != nil {
		t.Fatal(err)
	}
	url := "file://" + file
	b := open(t, url)
	// A decade of the picture is the distance between its lines for 1 and 10.
	apart := eval[[]float64](t, b, `(() => {
		const lines = [...document.querySelectorAll("#roofline .grid")].filter((e) => e.y1.baseVal.value === e.y2.baseVal.value).map((e) => e.y1.baseVal.value);
		const decade = (lines[0] - lines[1]) / Math.ceil((lines.length - 1) / 7 || 1);
		const dots = new Map([...document.querySelectorAll("#roofline circle:not(.ring)")].map((e) => [e.dataset.kernel, e]));
		return [...document.querySelectorAll("#roofline .ring")].map((e) => (e.cy.baseVal.value - dots.get(e.dataset.kernel).cy.baseVal.value) / decade);
	})()`)
	if len(apart) != rings || rings < 5 {
		t.Errorf("%d rings of %d kernels", len(apart), rings)
	}
	for _, d := range apart {
		if math.Abs(d-1) > 0.01 {
			t.Errorf("a ring is %g decades below the roofline, want 1", d)
		}
	}
	b.do(t, chromedp.Evaluate[chromedp.Void](`document.querySelector("#roofline .ring").dispatchEvent(new MouseEvent("click", {bubbles: true}))`))
	if text := eval[string](t, b, `document.getElementById("kernel-detail").textContent`); !strings.Contains(text, "10.0% of the roofline") {
		t.Errorf("the kernel is %q", text)
	}
	if n := eval[int](t, b, `document.querySelectorAll("#measured-ranks tbody tr").length`); n != 1 {
		t.Errorf("%d rows of ranks", n)
	}
	b.whole(t, 1600)
	b.clean(t, url)
}

func TestLive(t *testing.T) {
	s, err := live.Serve("127.0.0.1:0", live.Plan{Name: "M", Layout: "two", Arena: 1 << 20, LeastMs: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	url := "http://" + s.Addr() + "/"
	s.Tell(&metrics.Start{Name: "M", First: 1, Last: 40, FlopsPerStep: 1e9, PeakFlops: 4e12})
	for i := int64(1); i <= 20; i++ {
		s.Tell(&metrics.Step{Step: i, Loss: 5 / float64(i), GradNorm: 1, LR: 1e-3, Ms: 1, TokensPerS: 1e5})
	}
	b := open(t, url)
	b.do(t, chromedp.WaitVisible("#loss .curve"))
	for i := int64(21); i <= 40; i++ {
		s.Tell(&metrics.Step{Step: i, Loss: 5 / float64(i), GradNorm: math.NaN(), LR: 1e-3, Ms: 1, TokensPerS: 1e5, WaitMs: []float64{0.5, 0.125, 0.25}})
	}
	s.Tell(&metrics.Validation{Step: 40, Loss: 0.25})
	s.Tell(&metrics.End{Steps: 40, Loss: 0.125, ValLoss: 0.25})
	b.do(t, chromedp.WaitVisible("#loss .dot"))
	if text := eval[string](t, b, `document.getElementById("state").textContent`); text != "Done: 40 steps, loss 0.125, validation 0.25." {
		t.Errorf("the page says %q", text)
	}
	figures := eval[string](t, b, `document.getElementById("figures").textContent`)
	for _, want := range []string{"40 of 40", "predicted of measured50.0%", "share of peak25.0%", "1.00 MiB"} {
		if !strings.Contains(figures, want) {
			t.Errorf("%q is not in %q", want, figures)
		}
	}
	rows := eval[string](t, b, `[...document.querySelectorAll("#ranks tr")].map((e) => e.innerText.replace(/\s+/g, " ").trim()).join("; ")`)
	if want := "0 0.5 50.0%; 1 0.125 12.5% slowest; 2 0.25 25.0%"; rows != want {
		t.Errorf("the waits are %q, want %q", rows, want)
	}
	bars := eval[string](t, b, `(() => { const w = [...document.querySelectorAll("#ranks i")].map((e) => e.getBoundingClientRect().width); return w.map((v) => (v / w[0]).toFixed(2)).join(" "); })()`)
	if bars != "1.00 0.25 0.50" {
		t.Errorf("the bars are %s of the longest", bars)
	}
	b.clean(t, url, url+"events")
}
