package partition

import "math"

// maxDevices is the number of devices up to which what each one has is looked at.
const maxDevices = 256

// least is what a device has to send on average, from sharding s on, whatever the
// steps are: no plan costs less.
//
// Of a tensor that is not partial, each device receives what it will have and has not. Of
// one that is partial over n devices, an element takes n − 1 messages until the
// first device has the sum, and one more to each other device that needs it
// (Patarasuk, Yuan, 2009, theorem 1, for one that all need).
func (p *problem) least(s sharding) int64 {
	size := p.local(p.to)
	if n := p.reduces(s); n > 1 {
		return size + p.devices()*(n-2)
	}
	if p.devices() > maxDevices {
		return max(0, size-p.local(s))
	}
	return size - p.overlap(s)
}

// leastAnywhere is the least of all shardings with shards of the sizes of s.
func (p *problem) leastAnywhere(s sharding) int64 {
	if p.reduces(s) > 1 {
		return p.least(s)
	}
	return max(0, p.local(p.to)-p.local(s))
}

func (p *problem) devices() int64 {
	n := int64(1)
	for _, size := range p.mesh {
		n *= int64(size)
	}
	return n
}

// reduces is over how many devices s is partial.
func (p *problem) reduces(s sharding) int64 {
	n := int64(1)
	for m, size := range p.mesh {
		if s.partial&(1<<m) != 0 {
			n *= int64(size)
		}
	}
	return n
}

// overlap is how much of what a device has in the end it has in s, on average, rounded
// up. The part of the tensor that is both in shard a of k and b of l of an axis is
// from the larger of a/k and b/l to the smaller of their ends.
func (p *problem) overlap(s sharding) int64 {
	devices := p.devices()
	at := make([]int, len(p.mesh))
	shard := func(over []int) (i, of int) {
		of = 1
		for _, m := range over {
			i, of = i*p.mesh[m]+at[m], of*p.mesh[m]
		}
		return i, of
	}
	all := 0.0
	for d := range int(devices) {
		for m := len(p.mesh) - 1; m >= 0; m-- {
			at[m] = d % p.mesh[m]
			d /= p.mesh[m]
		}
		part := 1.0
		for i, have := range s.axes {
			a, k := shard(have)
			b, l := shard(p.to.axes[i])
			both := min((a+1)*l, (b+1)*k) - max(a*l, b*k)
			part *= float64(max(0, both)) / float64(k*l)
		}
		all += part
	}
	return int64(math.Ceil(all*float64(devices) - 1e-6))
}
