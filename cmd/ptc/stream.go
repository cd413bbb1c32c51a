package main

import (
	"slices"

	"ptc/runtime/data"
	"ptc/runtime/data/generator"
	"ptc/runtime/program"
)

// streamKind is the kind of data that another program gives.
const streamKind = "stream"

// streamOptions are the options by which a plan's data is read from a place, if one is given. A plan that is
// believed less than whole has no command run that only it names.
func streamOptions(plan *program.Plan, from string, given bool, f *trustFlags) ([]data.Option, error) {
	if plan.Data.Kind != streamKind {
		if given {
			return nil, usagef("--data needs a plan whose data is a stream, but this one's is data.%s", plan.Data.Kind)
		}
		return nil, nil
	}
	if given {
		if from == "" {
			return nil, usagef("--data is empty, but must name the program for the examples")
		}
		return []data.Option{{Key: "from", Value: from}}, nil
	}
	i := slices.IndexFunc(plan.Data.Options, func(o program.KV) bool { return o.Key == "from" })
	if i >= 0 && (f.rebuild || f.noNative) && generator.IsCommand(plan.Data.Options[i].Value) {
		return nil, usagef("the plan's data is the output of a command, %q, which does not run from an untrusted plan; name it with --data", plan.Data.Options[i].Value)
	}
	return nil, nil
}
