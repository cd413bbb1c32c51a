package report

import "ptc/runtime/program"

func Page(p, other *program.Plan) ([]byte, error) { return nil, nil }
