package launch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The flags that say how blocks are divided among the stages of a pipeline.
const (
	perStage      = "num-layers-per-virtual-pipeline-stage"
	stagesOfRank  = "num-virtual-stages-per-pipeline-rank"
	firstStage    = "decoder-first-pipeline-num-layers"
	lastStage     = "decoder-last-pipeline-num-layers"
	countsTokens  = "account-for-embedding-in-pipeline-split"
	countsLoss    = "account-for-loss-in-pipeline-split"
	stageLayout   = "pipeline-model-parallel-layout"
	maxStageChars = 1 << 16 // of a layout that is written out
)

// megatronStages reads how blocks are divided among the stages of a pipeline.
func megatronStages(l *line, r *Run) {
	for _, name := range []string{perStage, stagesOfRank, firstStage, lastStage, countsTokens, countsLoss} {
		if l.has(name) && l.has(stageLayout) {
			l.clash(l.text(name, ""), l.text(stageLayout, ""), "both say how blocks are divided among stages")
			return
		}
	}
	if l.has(perStage) && l.has(stagesOfRank) {
		l.clash(l.text(perStage, ""), l.text(stagesOfRank, ""), "both say how many stages a device has")
	}
	if l.has(firstStage) || l.has(lastStage) {
		ends := l.product([]string{firstStage, lastStage})
		switch {
		case l.has(perStage):
			l.clash(l.text(perStage, ""), ends, "stages of different sizes need --"+stagesOfRank)
			return
		case l.has(countsTokens) || l.has(countsLoss):
			l.clash(l.product([]string{countsTokens, countsLoss}), ends, "both say which stages have fewer blocks")
			return
		}
	}
	if l.has(stageLayout) {
		megatronWritten(l, r)
	} else {
		megatronDivided(l, r)
	}
	if r.Chunks > 1 && len(l.errs) == 0 {
		megatronInterleaved(l, r)
	}
	if r.PP == 1 {
		for _, name := range []string{countsTokens, countsLoss, stageLayout} {
			if l.has(name) {
				r.Kept = append(r.Kept, l.text(name, ""))
			}
		}
	}
	l.origin(r, "chunks", perStage, stagesOfRank)
	l.origin(r, "stages", firstStage, lastStage, countsTokens, countsLoss, stageLayout)
}

// megatronInterleaved checks a pipeline with several stages on a device.
func megatronInterleaved(l *line, r *Run) {
	least := 1
	if l.has("no-overlap-p2p-communication") {
		least = 2
	}
	if r.PP <= least {
		l.clash(l.product([]string{perStage, stagesOfRank, stageLayout}), l.text("pipeline-model-parallel-size", 1), fmt.Sprintf("an interleaved pipeline needs more than %d stages", least))
	}
	if r.Microbatches()%r.PP != 0 {
		l.clash(l.text("global-batch-size", r.Batch), l.text("pipeline-model-parallel-size", 1), fmt.Sprintf("%d microbatches of an interleaved pipeline are not divisible by its stages", r.Microbatches()))
	}
	r.Schedule = "interleaved"
}

// megatronDivided reads a division by numbers: the same for all devices but the ends.
func megatronDivided(l *line, r *Run) {
	n, devices := r.Layers, r.PP
	var ends [2]int
	for i, name := range []string{firstStage, lastStage} {
		if l.has(name) {
			ends[i] = l.positive(name, 1)
			n -= ends[i]
			devices--
		}
	}
	var less [2]int // the embedding and the loss in the place of a block
	for i, name := range []string{countsTokens, countsLoss} {
		if l.has(name) {
			less[i] = 1
			n++
		}
	}
	if n < devices || devices > 0 && n%devices != 0 || devices == 0 && n != 0 || devices < 0 {
		why := "the layers are not divisible by the stages"
		if n != r.Layers {
			why = fmt.Sprintf("with %s there are %d layers, which the other stages do not divide", l.product([]string{firstStage, lastStage, countsTokens, countsLoss}), n)
		}
		l.clash(l.text("num-layers", ""), l.text("pipeline-model-parallel-size", 1), why)
		return
	}
	each := n / max(1, devices)
	r.Chunks = l.positive(stagesOfRank, 1)
	if l.has(perStage) {
		size := l.positive(perStage, 1)
		if each%size != 0 {
			l.clash(l.text(perStage, ""), l.text("num-layers", ""), fmt.Sprintf("it does not divide the %d layers of a pipeline stage", each))
			return
		}
		r.Chunks = each / size
	}
	if r.Virtual() > r.Layers {
		l.clash(l.text(stagesOfRank, 1), l.text("num-layers", ""), "there are more stages than layers")
		return
	}
	r.Stages = megatronUneven(l, r, ends, less, each)
}

// megatronUneven is the blocks of each stage, nil where all have the same number. ends are the
// blocks of the first and the last device, 0 for as many as the others, which have each. less is
// how many blocks fewer the first and the last stage have.
func megatronUneven(l *line, r *Run, ends, less [2]int, each int) []int {
	if ends[0]+ends[1]+less[0]+less[1] == 0 {
		return nil
	}
	var out []int
	for range r.Chunks {
		for d := range r.PP {
			n := each
			switch {
			case d == 0 && ends[0] > 0:
				n = ends[0]
			case d == r.PP-1 && ends[1] > 0:
				n = ends[1]
			}
			if n%r.Chunks != 0 {
				l.clash(l.text("num-layers", ""), l.text(stagesOfRank, 1), fmt.Sprintf("a device's %d layers are not divisible by its stages", n))
				return nil
			}
			out = append(out, n/r.Chunks)
		}
	}
	out[0] -= less[0]
	out[len(out)-1] -= less[1]
	if out[0] < 1 || out[len(out)-1] < 1 {
		l.errs = append(l.errs, fmt.Errorf("%s: the first or the last stage has no blocks left; a stage of ptc has at least one", l.product([]string{countsTokens, countsLoss})))
		return nil
	}
	return out
}

// megatronWritten reads a layout such as `Et|(tt|)*6tL`: the embedding, blocks and the loss of
// each stage, the stages in the order of the blocks.
func megatronWritten(l *line, r *Run) {
	stages, err := stagesWritten(l.str(stageLayout, ""))
	if err != nil {
		l.refuse(stageLayout, err.Error())
		return
	}
	sum := 0
	for _, n := range stages {
		sum += n
	}
	switch {
	case len(stages)%r.PP != 0:
		l.clash(l.text(stageLayout, ""), l.text("pipeline-model-parallel-size", 1), fmt.Sprintf("%d stages are not divisible by %d devices", len(stages), r.PP))
	case sum != r.Layers:
		l.clash(l.text(stageLayout, ""), l.text("num-layers", ""), fmt.Sprintf("the stages have %s", count(sum, "block")))
	default:
		r.Chunks, r.Stages = len(stages)/r.PP, stages
	}
}

// The multiplications of a layout: of a group, then of a letter.
var (
	groupTimes  = regexp.MustCompile(`\(([^)]+)\)\*(\d+)`)
	letterTimes = regexp.MustCompile(`(.)\*(\d+)`)
)

// stagesWritten is the blocks of each stage of a layout.
func stagesWritten(text string) ([]int, error) {
	text = strings.ReplaceAll(text, ",", "")
	for _, pattern := range []*regexp.Regexp{groupTimes, letterTimes} {
		long := 0
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(m[2])
			if err != nil || n > maxStageChars || len(m[1])*n > maxStageChars {
				return nil, fmt.Errorf("it has more than %d stages and blocks", maxStageChars)
			}
			long += len(m[1]) * n
		}
		if long+len(text) > 2*maxStageChars {
			return nil, fmt.Errorf("it has more than %d stages and blocks", maxStageChars)
		}
		text = pattern.ReplaceAllStringFunc(text, func(s string) string {
			m := pattern.FindStringSubmatch(s)
			n, err := strconv.Atoi(m[2])
			if err != nil { // the loop above has seen it
				return s
			}
			return strings.Repeat(m[1], n)
		})
	}
	parts := strings.Split(text, "|")
	out := make([]int, len(parts))
	for i, part := range parts {
		for _, c := range part {
			switch c {
			case 't':
				out[i]++
			case 'E', 'L':
			case 'm':
				return nil, fmt.Errorf("prediction of several tokens (m) is not in std.models")
			default:
				return nil, fmt.Errorf("`%c` is none of E (the embedding), t (a block), m and L (the loss)", c)
			}
		}
		if out[i] == 0 {
			return nil, fmt.Errorf("stage %d of %d has no block (t); a stage of ptc has at least one, and the embedding and the loss are on the first and the last", i+1, len(parts))
		}
	}
	all := strings.ReplaceAll(text, "|", "")
	if !strings.HasPrefix(all, "E") || !strings.HasSuffix(all, "L") || strings.Count(all, "E") != 1 || strings.Count(all, "L") != 1 {
		return nil, fmt.Errorf("it must begin with one E, the embedding, and end with one L, the loss")
	}
	return out, nil
}

// written is a layout of stages as Megatron-LM reads it.
func written(stages []int) string {
	block := func(n int) string {
		if n > 2 {
			return "t*" + strconv.Itoa(n)
		}
		return strings.Repeat("t", n)
	}
	var b strings.Builder
	b.WriteString("E")
	last := len(stages) - 1
	for i := 0; i < last; {
		n := 1
		for i > 0 && i+n < last && stages[i+n] == stages[i] {
			n++
		}
		if n > 1 {
			fmt.Fprintf(&b, "(%s|)*%d", block(stages[i]), n)
		} else {
			b.WriteString(block(stages[i]) + "|")
		}
		i += n
	}
	return b.String() + block(stages[last]) + "L"
}
