package train

import (
	"slices"
	"strconv"
	"strings"

	"ptc/runtime/checkpoint"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// settingsOf are the values of the plan's ports.
func settingsOf(plan *program.Plan) (out []metrics.Setting) {
	for _, s := range plan.Settings {
		if s.Is == "" {
			out = append(out, metrics.Setting{Name: s.Name, Value: s.Value})
		}
	}
	return out
}

// keptSettings are those values as a checkpoint has them.
func keptSettings(plan *program.Plan) (out []checkpoint.Setting) {
	for _, s := range settingsOf(plan) {
		out = append(out, checkpoint.Setting(s))
	}
	return out
}

func settingText(name string, value float64) string {
	return name + "=" + strconv.FormatFloat(value, 'g', -1, 64)
}

// settingsDiffer says which ports have another value now than in a checkpoint; empty
// where none has, as far as both know it.
func settingsDiffer(had, have []checkpoint.Setting) string {
	var old, now []string
	for _, s := range have {
		i := slices.IndexFunc(had, func(t checkpoint.Setting) bool { return t.Name == s.Name })
		if i >= 0 && had[i].Value != s.Value {
			old, now = append(old, settingText(s.Name, had[i].Value)), append(now, settingText(s.Name, s.Value))
		}
	}
	if len(old) == 0 {
		return ""
	}
	return strings.Join(old, ", ") + ", and this one has " + strings.Join(now, ", ")
}
