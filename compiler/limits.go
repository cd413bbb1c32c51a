package compiler

import (
	"errors"
	"fmt"

	"ptc/internal/diag"
	"ptc/runtime/program"
)

// excess says, by the kind of limit, with which code and advice a program that
// is larger than plans can be is refused.
var excess = map[program.Limit]struct{ code, hint string }{
	program.SizeLimit:  {"E0615", "shard more (zero, tensor or pipeline parallel), or make the model or its batch smaller"},
	program.NameLimit:  {"E0616", "shorten the names of parameters, modules and axes"},
	program.CountLimit: {"E0617", "use fewer layers, microbatches or devices"},
}

// fits checks the finished plan. That it exceeds a limit is an error of the
// user's; whatever else is wrong with it is ours.
func fits(p *program.Plan) error {
	err := p.Validate()
	if err == nil {
		return nil
	}
	var l *program.LimitError
	if !errors.As(err, &l) {
		return &Bug{err}
	}
	x := excess[l.Kind]
	return &diag.Error{Code: x.code, Msg: "the plan has " + l.Text(),
		Want: fmt.Sprintf("at most %d", l.Most), Hint: x.hint}
}
