package explain

import (
	"fmt"
	"strings"

	"ptc/runtime/program"
)

// Remark is a decision of a pass.
type Remark struct {
	Pass  string `json:"pass"`
	Pos   string `json:"pos,omitempty"`
	Scope string `json:"scope,omitempty"`
	Text  string `json:"text"`
}

func (r *Remark) String() string {
	where := strings.TrimSpace(r.Scope + " " + r.Pos)
	if where != "" {
		where += ": "
	}
	return where + r.Text
}

// sameRemarks folds the remarks that differ in the number of a block or of a
// value alone, and says how often each is made.
func sameRemarks(list []Remark) (out []Remark, times []int) {
	var groups folded[Remark, Remark]
	for _, r := range list {
		k := Remark{r.Pass, r.Pos, template(r.Scope), withoutValues(r.Text)}
		groups.add(k, r)
	}
	for _, k := range groups.keys {
		same := groups.items[k]
		first := same[0]
		if len(same) > 1 {
			var scopes []place
			for _, r := range same {
				scopes = append(scopes, place{r.Scope, 1})
			}
			first.Scope = fold(scopes)
		}
		out, times = append(out, first), append(times, len(same))
	}
	return out, times
}

func remarkList(b *strings.Builder, d *Description, _ *program.Plan) {
	if len(d.Remarks) == 0 {
		return
	}
	fmt.Fprintf(b, "\nRemarks (%d)\n", len(d.Remarks))
	list, times := sameRemarks(d.Remarks)
	for i, r := range list {
		again := ""
		if times[i] > 1 {
			again = fmt.Sprintf(" (%d times)", times[i])
		}
		fmt.Fprintf(b, "  %s: %s%s\n", r.Pass, r.String(), again)
	}
}

// remarkCounts says how many remarks each pass makes, with the first of it.
func remarkCounts(b *strings.Builder, d *Description, width int) {
	if len(d.Remarks) == 0 {
		return
	}
	var groups folded[string, Remark]
	for _, r := range d.Remarks {
		groups.add(r.Pass, r)
	}
	fmt.Fprintf(b, "\nRemarks (%d): the first of each pass; --section remarks has all\n", len(d.Remarks))
	for _, pass := range groups.keys {
		list := groups.items[pass]
		fmt.Fprintf(b, "  %6d  %-11s %s\n", len(list), pass, clip(list[0].String(), width))
	}
}
