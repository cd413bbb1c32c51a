package train

import (
	"fmt"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/exec"
	"ptc/runtime/program"
)

// TestArrows: an arrow leads from a send to where its message is received, which is the
// done of a receive that was begun before.
func TestArrows(t *testing.T) {
	plan := &program.Plan{Mesh: []program.MeshAxis{{Name: "pp", Size: 2}}}
	message := func(kind string, tag int, start bool) *program.Comm {
		return &program.Comm{Kind: kind, Over: []string{"pp"}, Peer: map[string]int{collective.Send: 1}[kind], Tag: tag, Start: start}
	}
	done := func(of int) *program.Comm { return &program.Comm{Kind: collective.Done, Of: of} }
	var spans []exec.Span
	for rank, list := range [][]*program.Comm{
		{message(collective.Send, 0, false), message(collective.Send, 1, false), message(collective.Send, 0, false)},
		{message(collective.Recv, 0, true), message(collective.Recv, 0, true), done(0), message(collective.Recv, 1, false), done(1)},
	} {
		for i, c := range list {
			spans = append(spans, exec.Span{Rank: rank, Instr: i, In: &program.Instr{Comm: c}})
		}
	}
	got, want := fmt.Sprint(arrows(plan, spans)), "[{3 5} {4 7} {0 5} {2 7} {1 6}]"
	if got != want {
		t.Errorf("arrows %s, want %s", got, want)
	}
}
