package filequota

import (
	"encoding/binary"
	"hash/crc32"
	"time"
)

// A file has two slots. Each step writes the slot that is not the newest, so that a process which is killed
// while it writes leaves the newest whole. A slot is a header and a state. The newest is the whole one with the
// highest sequence.
const (
	stride     = 256 << 10 // from one slot to the other; most of it is a hole in the file
	allocated  = 8 << 10   // of each slot, when the file is made: what a full disk does not keep from being written
	headerSize = 192       // with room for fields to come
	mostState  = stride - headerSize

	shortestFile = stride + headerSize // what is shorter is truncated, or not made yet
)

// format is the version of the header. What it counts is in the upper bytes of header.version.
const format = 1

var magic = [8]byte{'p', 'a', 'c', 'e', 'r', 'f', 'q', '\n'}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// lastSeq is a sequence that is not reached in a million years. A file with a later one is lost, and begins
// anew: else the sequence would come to its end, and no later step would be the newest.
const lastSeq = 1 << 62

// header is what a slot says of its state.
type header struct {
	version uint32 // format<<8, and that of the state
	length  uint32 // of the state; zero if the bucket is new
	sum     uint32 // of the state
	seq     uint64 // rises by one from write to write, in turns between the slots
	lineage uint64 // random; another one after the bucket was lost, or made anew

	boot   bootID        // of the machine
	former bootID        // the one before
	turned int64         // when boot followed former, by the wall clock, in nanoseconds since 1970
	now    time.Duration // the ledger's instant of this step
	shift  time.Duration // what is added to the machine's clock to get the ledger's
	asleep time.Duration // for how long the machine had slept
	wall   int64         // the wall clock, in nanoseconds since 1970
	until  time.Duration // the ledger's instant after which no slot is about that was handed out

	hold time.Duration // the latest news of a hold: until when, by the ledger's clock
	room uint64        // names the step with the latest news of room
	lost uint64        // and the one with those of a loss

	came    uint64 // and the one with those of a member that came
	sharing uint64 // how many shared the bucket then

	far uint64        // and the one with those of slots far ahead
	end time.Duration // the ledger's instant of the last slot then

	released uint64 // names the step with the latest news of a person who ended a hold
}

// before reports whether a header was written before another one that this process knows. A new lineage begins
// later than those before it, too.
func (h *header) before(known *header) bool {
	return h.now-h.shift < known.now-known.shift || h.lineage == known.lineage && h.seq < known.seq
}

// bootID names a run of a machine: it is another one after each start. Zero if it is not known.
type bootID [16]byte

func (id bootID) known() bool { return id != bootID{} }

// place is where the slot of a sequence is in the file.
func place(seq uint64) int64 { return int64(seq&1) * stride }

// put writes the header of a state to the front of b, which has room for it, followed by the state.
func (h *header) put(b []byte) {
	h.length, h.sum = uint32(len(b)-headerSize), crc32.Checksum(b[headerSize:], castagnoli)
	clear(b[:headerSize])
	n := copy(b, magic[:])
	le := binary.LittleEndian
	for _, v := range []uint32{h.version, h.length, h.sum} {
		le.PutUint32(b[n:], v)
		n += 4
	}
	n += 4
	n += copy(b[n:], h.boot[:])
	n += copy(b[n:], h.former[:])
	for _, v := range [...]uint64{
		h.seq, h.lineage, uint64(h.turned), uint64(h.now), uint64(h.shift), uint64(h.asleep), uint64(h.wall), uint64(h.until),
		uint64(h.hold), h.room, h.lost, h.came, h.sharing, h.far, uint64(h.end), h.released,
	} {
		le.PutUint64(b[n:], v)
		n += 8
	}
	le.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
}

// readHeader reads a header. Ok says that it is whole, and of this format; later, that it is of a later one.
func readHeader(b []byte) (h header, ok, later bool) {
	le := binary.LittleEndian
	if len(b) < headerSize || [8]byte(b) != magic {
		return h, false, false
	}
	h.version = le.Uint32(b[8:])
	if h.version>>8 != format {
		return h, false, h.version>>8 > format
	}
	if le.Uint32(b[headerSize-4:]) != crc32.Checksum(b[:headerSize-4], castagnoli) {
		return h, false, false
	}
	h.length, h.sum = le.Uint32(b[12:]), le.Uint32(b[16:])
	copy(h.boot[:], b[24:])
	copy(h.former[:], b[40:])
	n := 56
	next := func() (v uint64) {
		v = le.Uint64(b[n:])
		n += 8
		return v
	}
	h.seq, h.lineage, h.turned = next(), next(), int64(next())
	h.now, h.shift, h.asleep = time.Duration(next()), time.Duration(next()), time.Duration(next())
	h.wall, h.until, h.hold = int64(next()), time.Duration(next()), time.Duration(next())
	h.room, h.lost, h.came, h.sharing, h.far, h.end = next(), next(), next(), next(), next(), time.Duration(next())
	h.released = next()
	return h, h.length <= mostState && h.sane(), false
}

// longest is the longest span that this process writes: no sum of a few of them overflows.
const longest = 50 * 365 * 24 * time.Hour

// sane reports whether all instants are such as are written: whoever else writes a file may write any.
func (h *header) sane() bool {
	for _, d := range [...]time.Duration{h.now, h.asleep, h.until, h.hold, h.end} {
		if d < 0 || d > 2*longest {
			return false
		}
	}
	return h.shift.Abs() <= longest && h.now-h.shift >= 0 && time.Duration(h.wall).Abs() < 5*longest && time.Duration(h.turned).Abs() < 5*longest
}

// whole reports whether a state is the one of the header.
func (h *header) whole(state []byte) bool {
	return len(state) == int(h.length) && crc32.Checksum(state, castagnoli) == h.sum
}
