package matrix

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Layout is a row of the matrix. Spec is a list of words, in the order of the
// mesh:
//
//	dp4            the batch over 4 devices
//	z1 z2 z3       ZeRO of that level over dp
//	fsdp2          the batch over 2 more devices, with ZeRO 3 over them
//	tp2            the model's tensor axes over 2 devices
//	kvtp2          and the heads of keys and values as well
//	sp             sequence parallelism over the devices of tp
//	cp2            seq over 2 devices, with attention by a ring
//	zz2            the same with positions in zig-zag order
//	gather2        the same with keys and values gathered
//	ep2            the batch and the experts over 2 devices
//	node2 ep2      the batch and the experts over 2 nodes of 2 devices
//	ex2            the experts alone over 2 devices
//	zb_h1:2:4      a pipeline over 2 devices with 4 microbatches, in any schedule
//	interleaved:2:4:2  the same with 2 chunks on each device
//	on2            2 devices for what Extra says
//	ffn/2          the axis ffn alone over 2 devices, and any other axis so
type Layout struct {
	Spec   string
	Set    string // sizes that differ from the model's
	Models string // names; empty for all the decoders
	Extra  string // more directives, as the language has them
}

// Name is the row's name: what it does, and sizes that it needs.
func (l Layout) Name() string {
	name := l.Spec
	if l.Extra != "" {
		name += " + " + strings.Join(strings.Fields(l.Extra), " ")
	}
	if l.Set != "" {
		name += " (" + l.Set + ")"
	}
	return name
}

// For says whether the row is one of the model's.
func (l Layout) For(m Model) bool {
	if l.Models == "" {
		return m.Name != "mlp"
	}
	return strings.Contains(" "+l.Models+" ", " "+m.Name+" ")
}

// word is a name, then its number.
var word = regexp.MustCompile(`^([a-z]+)(\d+)$`)

// words are what a name with a number stands for.
var words = map[string]struct {
	axis  string // of the mesh, of that size
	rule  string // with the number for %n, and the model's tensor axes for %t
	batch bool   // the axis shards the batch
}{
	"dp":     {"dp", "", true},
	"z":      {"", "zero %n over dp", false},
	"fsdp":   {"fsdp", "zero 3 over fsdp", true},
	"tp":     {"tp", "shard %t over tp", false},
	"kvtp":   {"tp", "shard %t, kv over tp", false},
	"cp":     {"cp", "shard seq over cp", false},
	"zz":     {"cp", "shard seq over cp { order = zigzag }", false},
	"gather": {"cp", "shard seq over cp { attention = gather }", false},
	"node":   {"node", "", true},
	"ep":     {"ep", "shard experts over ep", true},
	"ex":     {"ex", "shard experts over ex", false},
	"on":     {"on", "", false},
}

// Rules is the body of the layout in the language.
func (l Layout) Rules(m Model) (string, error) {
	var mesh, rules, batch []string
	add := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	axis := func(name, size string) { mesh = append(mesh, name+" = "+size) }
	for _, w := range strings.Fields(l.Spec) {
		if p := word.FindStringSubmatch(w); p != nil {
			x, ok := words[p[1]]
			if !ok {
				return "", fmt.Errorf("layout %q: what is %q?", l.Spec, w)
			}
			if x.axis != "" {
				axis(x.axis, p[2])
			}
			if p[1] == "ep" && slices.Contains(batch, "node") {
				x.rule = "shard experts over (node, ep)"
			}
			if x.rule != "" {
				add("%s", strings.NewReplacer("%n", p[2], "%t", m.Tensor).Replace(x.rule))
			}
			if x.batch {
				batch = append(batch, x.axis)
			}
			continue
		}
		switch parts := strings.Split(w, ":"); {
		case w == "sp":
			add("shard seq over tp between Block")
		case len(parts) >= 3:
			axis("pp", parts[1])
			rules = append(rules, pipeline(parts))
		case strings.Count(w, "/") == 1:
			name, size, _ := strings.Cut(w, "/")
			axis("m"+name, size)
			add("shard %s over m%s", name, name)
		case w == "single":
		default:
			return "", fmt.Errorf("layout %q: what is %q?", l.Spec, w)
		}
	}
	if len(batch) > 0 {
		over := strings.Join(batch, ", ")
		if len(batch) > 1 {
			over = "(" + over + ")"
		}
		add("shard batch over %s", over)
	}
	if l.Extra != "" {
		add("%s", l.Extra)
	}
	if len(mesh) > 0 {
		rules = append([]string{"mesh " + strings.Join(mesh, ", ")}, rules...)
	}
	return strings.Join(rules, "\n"), nil
}

// pipeline is the rule of schedule:devices:microbatches, and chunks if there
// are.
func pipeline(parts []string) string {
	chunks := ""
	if len(parts) > 3 {
		chunks = "  chunks = " + parts[3]
	}
	return fmt.Sprintf("pipeline blocks over pp { schedule = %s  microbatches = %s%s }", parts[0], parts[2], chunks)
}
