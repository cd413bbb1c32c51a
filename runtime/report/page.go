package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/profile"
	"ptc/runtime/program"
)

//go:embed page
var files embed.FS

// scripts are the parts of the page's script, in order.
var scripts = []string{"base.js", "memory.js", "timeline.js", "mesh.js", "kernels.js", "source.js"}

// Extra is what a page shows besides the plan; nil is left out.
type Extra struct {
	Other    *program.Plan   // that the plan is compared with
	Measured *profile.Report // of a run of the plan
	Forecast *Forecast       // its roof counts unless the run has measured one
	Search   *Search         // over layouts of the plan's model
}

// Page is the page of a plan.
func Page(p *program.Plan, x Extra) ([]byte, error) {
	var roof *program.Roof
	if x.Forecast != nil && x.Measured == nil {
		roof = x.Forecast.Roof
	}
	d := Of(under(p, roof))
	d.Report.Forecast, d.Report.Search = x.Forecast, x.Search
	if x.Measured != nil {
		if err := d.Measure(p, x.Measured); err != nil {
			return nil, err
		}
	}
	v := newView(d)
	if x.Other != nil {
		v.Compared = compare(v.Plan, Of(under(x.Other, roof)))
		v.Sections = append([]section{{"compared", "Compared"}}, v.Sections...)
	}
	style, script := asset("page.css"), "(() => {\n"
	for _, name := range scripts {
		script += asset(name)
	}
	script += "})();\n"
	v.Style, v.Script = template.CSS(style), template.JS(script)
	v.Policy = template.HTMLAttr(fmt.Sprintf(`content="%s"`, Policy(style, script)))
	v.Data = v.Plan
	var b bytes.Buffer
	if err := v.template().Execute(&b, v); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return b.Bytes(), nil
}

// Policy is the content security policy of a page with this style and this script, and
// with nothing else; sources are what may be added, such as connect-src 'self'.
func Policy(style, script string, sources ...string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Join(append([]string{"default-src 'none'", "style-src " + hash(style), "script-src " + hash(script),
		"img-src data:", "base-uri 'none'", "form-action 'none'"}, sources...), "; ")
}

// Style is the look of ptc's pages.
func Style() string { return asset("page.css") }

func asset(name string) string {
	text, err := files.ReadFile("page/" + name)
	if err != nil {
		panic("report: " + err.Error()) // it is in the binary
	}
	return string(text)
}

// template is the page's, with what it writes quantities and places by.
func (v *view) template() *template.Template {
	return template.Must(template.New("page.html").Funcs(template.FuncMap{
		"bytes":   units.Bytes,
		"plural":  units.Plural,
		"percent": percent,
		"count":   func(n int64) string { return units.Count(n, "") },
		"flops":   func(n float64) string { return units.Count(n, "FLOP") },
		"gb":      func(n float64) string { return units.Count(n, "B") },
		"micro":   func(ms float64) string { return fmt.Sprintf("%.2f", 1e3*ms) },
		"ms":      milliseconds,
		"seconds": inSeconds,
		"dollars": inDollars,
		"inc":     func(n int) int { return n + 1 },
		"join":    func(names []string) string { return strings.Join(names, ", ") },
		"place":   v.place,
		"words":   v.words,
	}).Parse(asset("page.html")))
}

func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }

func milliseconds(ms float64) string {
	if ms < 1 {
		return fmt.Sprintf("%.3g µs", 1e3*ms)
	}
	return fmt.Sprintf("%.4g ms", ms)
}
