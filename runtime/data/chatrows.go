package data

// chatPart is what a field has: of which conversation of a pair, and what of it.
type chatPart struct {
	answer int
	part   part
}

// chatRows are windows of whole conversations. A conversation is cut only where it is
// longer than a window.
type chatRows struct {
	stores []*store
	list   []record // in the order of the windows
	bins   []int    // window w has the conversations [bins[w], bins[w+1])
	window int
	pad    int32
	pairs  bool
	long   int  // conversations that do not fit
	left   bool // these have lost their beginnings
	parts  []chatPart
}

func (r *chatRows) count() int64 { return int64(len(r.bins) - 1) }

// cut counts the conversations that are longer than a window, which is read up to its
// end, and with left has them begin so late that their last token is the last target.
// A window and the token behind it remain.
func (r *chatRows) cut(left bool) error {
	r.left = left
	marks := make([]int32, r.window)
	for i := range r.list {
		x := &r.list[i]
		if int(x.n) <= r.window+1 {
			continue
		}
		if r.long++; !left {
			continue
		}
		x.from += int64(int(x.n) - r.window - 1)
		x.n, x.targets = int32(r.window+1), 0
		if err := r.stores[x.store].marks(marks, x.from+1); err != nil {
			return err
		}
		for _, v := range marks {
			if v&markTarget != 0 {
				x.targets++
			}
		}
	}
	return nil
}

// apart puts each conversation, or each pair, into a window of its own.
func (r *chatRows) apart() {
	each := 1
	if r.pairs {
		each = 2
	}
	r.bins = []int{0}
	for i := each; i <= len(r.list); i += each {
		r.bins = append(r.bins, i)
	}
}

// openBins is how many windows may still be filled while records are packed.
const openBins = 64

// packed puts conversations into the first of the last windows that has room.
func (r *chatRows) packed(window int) {
	type bin struct {
		left int
		list []record
	}
	var bins []*bin
	for _, x := range r.list {
		n := min(int(x.n), window)
		var to *bin
		for _, b := range bins[max(0, len(bins)-openBins):] {
			if b.left >= n {
				to = b
				break
			}
		}
		if to == nil {
			to = &bin{left: window}
			bins = append(bins, to)
		}
		to.left -= n
		to.list = append(to.list, x)
	}
	r.list, r.bins = r.list[:0:0], []int{0}
	for _, b := range bins {
		r.list = append(r.list, b.list...)
		r.bins = append(r.bins, len(r.list))
	}
}

func (r *chatRows) read(field int, n int64, b box, out []int32, _ []float32) error {
	p := r.parts[field]
	list := r.list[r.bins[n]:r.bins[n+1]]
	if r.pairs {
		list = list[p.answer : p.answer+1]
	}
	lo, hi := b.lo[1], b.hi[1]
	at := 0
	for i, x := range list {
		length := min(int(x.n), r.window-at)
		from, to := max(lo, at), min(hi, at+length)
		if from < to {
			if err := r.fill(p.part, x, i, from-at, out[from-lo:to-lo]); err != nil {
				return err
			}
		}
		at += length
	}
	for c := max(lo, at); c < hi; c++ { // padding is a document of its own
		out[c-lo] = [...]int32{partTokens: r.pad, partTargets: notATarget, partDocument: int32(len(list)), partPosition: int32(c - at)}[p.part]
	}
	return nil
}

// fill writes what a field has of a conversation, from its token on.
func (r *chatRows) fill(p part, x record, number, from int, out []int32) error {
	s := r.stores[x.store]
	switch p {
	case partTokens:
		return s.copyTo(out, x.from+int64(from))
	case partDocument:
		for i := range out {
			out[i] = int32(number)
		}
	case partPosition:
		for i := range out {
			out[i] = int32(from + i)
		}
	case partTargets:
		n := min(len(out), int(x.n)-from-1) // the last token predicts nothing
		if err := s.marks(out[:n], x.from+int64(from)+1); err != nil {
			return err
		}
		for i, v := range out {
			if i >= n || v&markTarget == 0 {
				out[i] = notATarget
			} else if out[i] = v & tokenBits; s.vocab > 0 && int(out[i]) >= s.vocab {
				return s.copyTo(out[i:i+1], x.from+int64(from+i)+1) // which tells what is wrong
			}
		}
	}
	return nil
}
