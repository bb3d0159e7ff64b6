package tree

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gopacer/pacer/internal/tests/whole"
)

// thing is a value: what a Keeper is told of it.
type thing struct {
	path  string
	used  int64
	inUse bool
	loss  Loss // but for inUse
}

type keeper struct{ forgotten []*thing }

func (k *keeper) Used(v *thing) int64 { return v.used }

func (k *keeper) Loss(v *thing) Loss {
	if v.inUse {
		return InUse
	}
	return v.loss
}

func (k *keeper) Forget(v *thing, most Loss) bool {
	if loss := k.Loss(v); loss == InUse || loss > most {
		return false
	}
	k.forgotten = append(k.forgotten, v)
	return true
}

func fill(n *Node[*thing]) { n.Value = &thing{path: strings.Join(n.Path(), "/")} }

func (t *Tree[V]) get(path string, fill func(*Node[V])) *Node[V] {
	return t.Find(strings.Split(path, "/"), fill)
}

// TestDigest: a node is saved as its path says, or as it was saved before.
func TestDigest(t *testing.T) {
	var tr Tree[*thing]
	n := tr.get("a", fill)
	before := n.DigestOf("n")
	if named := tr.FindName(n, "n", fill); before != named.Digest() || before != n.DigestOf("n") {
		t.Errorf("%q before there is a node, and %q and %q after", before, named.Digest(), n.DigestOf("n"))
	}
	n.Name("n").Saved = "saved"
	if got := n.DigestOf("n"); got != "saved" || n.Name("n").Digest() != got {
		t.Errorf("%q and %q, want what it was saved as", got, n.Name("n").Digest())
	}
}

// TestFull: a pass begins when there are more nodes than are kept without a look, or than there is room for.
func TestFull(t *testing.T) {
	for room, want := range map[int]int{0: 1, 10: 11, SweepFrom: SweepFrom + 1, 5 * SweepFrom: SweepFrom + 1} {
		var tr Tree[*thing]
		for !tr.Full(room) {
			tr.get(fmt.Sprint(tr.Count()), fill)
		}
		if tr.Count() != want {
			t.Errorf("room for %d: full at %d, want %d", room, tr.Count(), want)
		}
	}
}

// names are the paths of all things, in their order.
func names(t *Tree[*thing]) (all []string) {
	for v := range t.All() {
		all = append(all, v.path)
	}
	return all
}

func TestOrder(t *testing.T) {
	var tr Tree[*thing]
	tr.get("b/z", fill)
	tr.get("b/a", fill)
	tr.FindName(tr.get("b", fill), "n", fill)
	tr.FindName(tr.get("b", fill), "a", fill)
	tr.get("a b", fill)
	tr.get("a/c", fill)
	tr.get("a", fill)
	tr.FindName(tr.get("a", fill), "n", fill)
	tr.get("a/c/x", fill)
	tr.get("b/z/w", fill)
	want := []string{"a", "a/n", "a/c", "a/c/x", "a b", "b", "b/a", "b/n", "b/a", "b/z", "b/z/w"} // names first
	if got := names(&tr); !slices.Equal(got, want) || tr.Count() != len(want) {
		t.Errorf("%d: %q, want %q", tr.Count(), got, want)
	}
	nodes := tr.Nodes()
	slices.SortFunc(nodes, Compare)
	if i := 0; len(nodes) == len(want) {
		for v := range tr.All() {
			if nodes[i].Value != v {
				t.Errorf("by Compare, %q is at %d, want %q", nodes[i].Value.path, i, v.path)
			}
			i++
		}
	} else {
		t.Errorf("%d nodes, want %d", len(nodes), len(want))
	}
	b := tr.get("b", fill)
	if n := tr.FindName(b, "a", fill); !n.Named || n.Parent != b || n == tr.get("b/a", fill) || n.Digest() == tr.get("b/a", fill).Digest() {
		t.Errorf("a name is taken for a key: %+v", n)
	}
	tr.Cut(b)
	if got := names(&tr); !slices.Equal(got, want[:5]) || tr.Count() != 5 {
		t.Errorf("%d: %q are left, want %q", tr.Count(), got, want[:5])
	}
	for v := range tr.All() {
		if v.path != "a" {
			t.Errorf("went on to %s", v.path)
		}
		break
	}
}

func TestSweepForgetsWhatWasNotUsed(t *testing.T) {
	var tr Tree[*thing]
	k := &keeper{}
	for _, path := range []string{"idle", "used", "held", "parent/held", "a/b/c", "new/x"} {
		tr.get(path, fill)
	}
	tr.get("held", fill).Value.loss, tr.get("parent/held", fill).Value.loss = Little, Much
	tr.Sweep(nil, math.MaxInt, k)
	if len(k.forgotten) > 0 {
		t.Errorf("%v are new, and forgotten", k.forgotten)
	}
	tr.get("used", fill).Value.used = 1
	tr.Sweep(tr.get("new/x", fill), math.MaxInt, k)
	if got, want := fmt.Sprint(names(&tr)), "[held new new/x parent parent/held used]"; got != want {
		t.Errorf("%s are left, want %s", got, want)
	}
	tr.Sweep(nil, math.MaxInt, k)
	tr.Sweep(nil, math.MaxInt, k)
	if got, want := fmt.Sprint(names(&tr)), "[held parent parent/held]"; got != want {
		t.Errorf("%s are left, want %s", got, want)
	}
}

func TestSweepMakesRoom(t *testing.T) {
	for _, test := range []struct {
		room int
		want string
	}{
		{100, "[a a/2 a/5 b b/1 b/6 c d]"},
		{8, "[a a/2 a/5 b b/1 b/6 c d]"},
		{7, "[a a/5 b b/1 b/6 c d]"},
		{6, "[a a/5 b b/1 b/6 c]"},
		{5, "[a b b/1 b/6 c]"},
		{4, "[b b/1 b/6 c]"}, // a goes with the last one below it
		{3, "[b b/1 c]"},
		{0, "[b b/1 c]"}, // one is in use, the other is about to be
	} {
		var tr Tree[*thing]
		for _, path := range []string{"a/2", "a/5", "b/1", "b/6", "c", "d"} {
			tr.get(path, fill)
		}
		for v := range tr.All() {
			v.loss = Much
			fmt.Sscanf(v.path[len(v.path)-1:], "%d", &v.used)
		}
		tr.get("a", fill).Value.used, tr.get("b", fill).Value.used = 5, 6
		tr.get("c", fill).Value.used, tr.get("d", fill).Value.used = 4, 3
		tr.get("b/1", fill).Value.inUse = true
		if test.room < 5 {
			tr.get("c", fill).Value.used = 7
		}
		tr.Sweep(tr.get("c", fill), test.room, &keeper{})
		if got := fmt.Sprint(names(&tr)); got != test.want {
			t.Errorf("room for %d: %s are left, want %s", test.room, got, test.want)
		}
	}
}

// What is lost decides before when it was used: nothing, little, much; never what is in use, nor what is above
// that. A node goes no sooner than what is below it.
func TestSweepLosesTheLeast(t *testing.T) {
	var tr Tree[*thing]
	k := &keeper{}
	for used, path := range []string{"much 1", "in use/much", "in use", "little 1/nothing", "much 2", "little 2", "nothing/much", "nothing 2", "about to be used"} {
		v := tr.get(path, fill).Value
		v.used = int64(used)
		for loss, name := range []string{"nothing", "little", "much"} {
			if strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], name) {
				v.loss = Loss(loss)
			}
		}
	}
	tr.get("little 1", fill).Value.loss, tr.get("in use", fill).Value.inUse = Little, true
	tr.Sweep(tr.get("about to be used", fill), 0, k)
	var order []string
	for _, v := range k.forgotten {
		order = append(order, v.path)
	}
	want := []string{
		"little 1/nothing", "nothing 2", "little 1", "little 2", "much 1", "in use/much", "much 2", "nothing/much", "nothing",
	}
	if !slices.Equal(order, want) {
		t.Errorf("forgotten %q, want %q", order, want)
	}
	if got, want := fmt.Sprint(names(&tr)), "[about to be used in use]"; got != want {
		t.Errorf("%s are left, want %s", got, want)
	}
}

// TestFullIsRare adds things for ever, none of which may be forgotten but for want of room: there are never
// more than there is room for, and on average each costs a constant number of looks. Where things are in use, a
// third more of these are allowed, until two passes have ended.
func TestFullIsRare(t *testing.T) {
	for _, room := range []int{0, 1, 2, 10, 1000, 5000} {
		for _, inUse := range []int{0, 3, 4_000} {
			var tr Tree[*thing]
			k := &counter{}
			r := rand.New(rand.NewPCG(1, uint64(room)))
			const all = 10_000
			for i := range all {
				n := tr.get(fmt.Sprintf("%d/%d", r.IntN(3), i), fill)
				n.Value.loss, n.Value.used, n.Value.inUse = Loss(i%3), int64(i), i < inUse
				n.Parent.Value.used = int64(i)
				if tr.Full(room) {
					tr.SweepSome(n, room, k)
				}
				if most := max(room, min(inUse, i+1)*4/3) + 5; tr.Count() > most {
					t.Fatalf("room for %d: %d after %d, %d of them in use", room, tr.Count(), i+1, min(inUse, i+1))
				}
			}
			if perThing := float64(k.looks) / all; perThing > 40 {
				t.Errorf("room for %d, %d in use: %.0f looks for each", room, inUse, perThing)
			}
		}
	}
}

type counter struct {
	keeper
	looks int
}

func (c *counter) Used(v *thing) int64 {
	c.looks++
	return v.used
}

func (c *counter) Loss(v *thing) Loss {
	c.looks++
	return c.keeper.Loss(v)
}

// Requests wait for Nodes, so it neither sorts nor makes paths: whatever there is, it makes the result and
// nothing else.
func TestNodesOnlyCollects(t *testing.T) {
	for _, n := range []int{10, 10_000} {
		var tr Tree[*thing]
		for i := range n {
			tr.get(fmt.Sprintf("%d/%d", i%7, i), fill)
		}
		if got := testing.AllocsPerRun(5, func() {
			if len(tr.Nodes()) != tr.Count() {
				t.Error("some are missing")
			}
		}); got > 6 {
			t.Errorf("%d things: %v allocations, want 6 at most", n, got)
		}
	}
}

// Where things are in use, no call looks at more than a few of them, however many there are: with room for all,
// and, but for the one that finds out, with room for some. What is idle is forgotten all the same, and there
// are never many more than are kept.
func TestSweepSomeIsFlat(t *testing.T) {
	for _, room := range []int{math.MaxInt, 3000} {
		for _, every := range []int{1, 2, math.MaxInt} { // so many are in use
			var tr Tree[*thing]
			k := &counter{}
			const all = 40_000
			long, most, inUse := 0, 0, 0
			for i := range all {
				n := tr.get(fmt.Sprint(i), fill)
				if n.Value.inUse = i%every == 0; n.Value.inUse {
					inUse++
				}
				n.Value.used = int64(i)
				before := k.looks
				if tr.Full(room) {
					tr.SweepSome(n, room, k)
				}
				if k.looks-before > 4*fewLooks {
					long++
				}
				most = max(most, tr.Count()-inUse*2)
			}
			if room == math.MaxInt && long > 0 || every == 1 && long > 1 {
				t.Errorf("room for %d, each %d in use: %d calls looked at more than a few", room, every, long)
			}
			if perThing := float64(k.looks) / all; perThing > 40 {
				t.Errorf("room for %d, each %d in use: %.0f looks for each", room, every, perThing)
			}
			if most > 2*SweepFrom+8 {
				t.Errorf("room for %d, each %d in use: %d too many", room, every, most)
			}
			if every == math.MaxInt && tr.Count() > 2*SweepFrom+8 {
				t.Errorf("room for %d: %d idle ones are left", room, tr.Count())
			}
		}
	}
}

// What is taken out and put in while a pass is under way, be it what the pass would look at next, does not
// disturb it: it looks at all others, forgets those that are idle, and keeps those that were used since the
// pass before.
func TestSweepSomeAfterCut(t *testing.T) {
	var tr Tree[*thing]
	const each = 100
	for i := range each {
		for _, path := range []string{"idle/%d", "used/%d", "cut%d/x"} {
			tr.get(fmt.Sprintf(path, i), fill)
		}
	}
	for pass := range 3 {
		for i := range each {
			tr.get(fmt.Sprintf("used/%d", i), fill).Value.used = int64(pass + 1)
		}
		step := 0
		for ; step == 0 || tr.next != nil; step++ {
			if n := tr.next; n != nil && n.Key == "x" {
				tr.Cut(n.Parent)
			}
			if cut := fmt.Sprintf("cut%d/x", step%each); tr.top[cut[:len(cut)-2]] != nil {
				tr.Cut(tr.get(cut, fill).Parent)
				tr.get(cut, fill)
			}
			tr.SweepSome(nil, math.MaxInt, &keeper{})
			inOrder := 0
			for range tr.All() {
				inOrder++
			}
			if n := len(tr.Nodes()); n != tr.Count() || n != inOrder {
				t.Fatalf("%d nodes, %d in order, but a count of %d", n, inOrder, tr.Count())
			}
		}
		if most := (4*each + 2) / fewLooks; step < each/fewLooks || step > most+1 {
			t.Errorf("a pass of %d steps, want %d at most", step, most)
		}
	}
	if tr.top["idle"] != nil || len(tr.top["used"].children) != each {
		t.Errorf("%d are left, want the %d that were used, and not those that were idle", tr.Count(), each)
	}
}

// Where room is to be made among many, no call looks at more than a few, and those go first by which the least
// is lost, and of these the ones that were used the longest ago; but not those that were used since.
func TestSweepSomeMakesRoomBitByBit(t *testing.T) {
	const room = 4 * SweepFrom
	var tr Tree[*thing]
	k := &counter{}
	r := rand.New(rand.NewPCG(1, 2))
	most, long, clock := 0, 0, int64(0)
	add := func(path string) {
		clock++
		n := tr.get(path, fill)
		n.Value.used, n.Value.loss, n.Value.inUse = clock, Loss(1+r.IntN(2)), r.IntN(100) == 0
		for p := n.Parent; p != nil; p = p.Parent {
			p.Value.used, p.Value.loss = clock, Little
		}
		before := k.looks
		if tr.Full(room) {
			tr.SweepSome(n, room, k)
		}
		if k.looks-before > 6*fewLooks {
			long++
		}
		most = max(most, tr.Count())
	}
	for i := range 8 * room {
		add(fmt.Sprintf("%d/%d", i%7, i))
		if i%5 == 0 { // one that was used a while ago is used again
			if n := tr.top["0"]; n != nil {
				for _, old := range n.children {
					clock++
					old.Value.used = clock
					break
				}
			}
		}
	}
	if long > 0 || most > room+2 {
		t.Errorf("%d calls looked at more than a few; there were %d, want %d at most", long, most, room)
	}
	kept := map[*thing]bool{}
	latest := map[Loss]int64{} // of those that were forgotten
	for v := range tr.All() {
		kept[v] = true
	}
	for _, v := range k.forgotten {
		latest[v.loss] = max(latest[v.loss], v.used)
		if v.inUse || kept[v] {
			t.Fatalf("%+v is forgotten", v)
		}
	}
	gone := 0
	for v := range kept {
		if strings.Contains(v.path, "/") && !v.inUse && v.loss == Little && v.used < clock-room {
			gone++
		}
	}
	if gone > room/8 {
		t.Errorf("%d of those that go first are still there", gone)
	}
	if perThing := float64(k.looks) / (8 * room); perThing > 40 {
		t.Errorf("%.0f looks for each", perThing)
	}
}

// TestSweepSomeOfTwo: a pass ends before there is no room also where each call adds two nodes, a thing and the
// one above it.
func TestSweepSomeOfTwo(t *testing.T) {
	const room = 4 * SweepFrom
	var tr Tree[*thing]
	k := &counter{}
	for i := range 3 * room {
		n := tr.get(fmt.Sprintf("%d/x", i), fill)
		for p := n; p != nil; p = p.Parent {
			p.Value.loss, p.Value.used = Much, int64(i)
		}
		before := k.looks
		if tr.Full(room) {
			tr.SweepSome(n, room, k)
		}
		if k.looks-before > 6*fewLooks || tr.Count() > room+2 {
			t.Fatalf("%d looks at a time, %d nodes", k.looks-before, tr.Count())
		}
	}
}

// TestSweepSomeAfterAllWereInUse: when what was in use no longer is, there are soon as many as there is room
// for, and no call looks at more than a few, however many there are.
func TestSweepSomeAfterAllWereInUse(t *testing.T) {
	for _, most := range []int{9, 40} { // eighths of the room, which were in use
		const room = 2 * SweepFrom
		var tr Tree[*thing]
		k := &counter{}
		add := func(inUse bool) (looks int) {
			n := tr.get(fmt.Sprint(k.looks, tr.Count()), fill)
			n.Value.inUse, n.Value.loss, n.Value.used = inUse, Much, int64(k.looks)
			before := k.looks
			if tr.Full(room) {
				tr.SweepSome(n, room, k)
			}
			return k.looks - before
		}
		for tr.Count() < room*most/8 {
			add(true)
		}
		for v := range tr.All() {
			v.inUse = false
		}
		for i := 0; tr.Count() > room; i++ {
			if looks := add(false); looks > 6*fewLooks || i > 2*room {
				t.Fatalf("%d eighths: %d looks at a time; %d are left after %d, want %d", most, looks, tr.Count(), i, room)
			}
		}
	}
}

// TestSweepSomeRests: while nothing is added, no pass follows another one, however much of the room is in use.
func TestSweepSomeRests(t *testing.T) {
	for eighths := range 14 {
		const room = 2 * SweepFrom
		var tr Tree[*thing]
		k := &counter{}
		for tr.Count() < room*eighths/8 {
			n := tr.get(fmt.Sprint(tr.Count()), fill)
			n.Value.inUse = true
			if tr.Full(room) {
				tr.SweepSome(n, room, k)
			}
		}
		last := tr.get("0", fill)
		calls := 0
		for ; tr.Full(room) && calls < 2*room/fewLooks; calls++ {
			tr.SweepSome(last, room, k)
		}
		if tr.Full(room) {
			t.Errorf("%d eighths: a pass is under way after %d calls", eighths, calls)
		}
	}
}

// TestSweepSomeForgetsNothingThatIsUsed: whatever is added, used and taken out while passes are under way, the
// tree stays whole, and nothing is forgotten that was used lately, is about to be, or has nodes below it.
func TestSweepSomeForgetsNothingThatIsUsed(t *testing.T) {
	for seed := range whole.Or[uint64](2, 6) {
		r := rand.New(rand.NewPCG(seed, 1))
		const room = 2 * SweepFrom
		var tr Tree[*thing]
		clock, used := int64(0), (*Node[*thing])(nil)
		k := &suspicious{tree: &tr, lately: func(v *thing) bool { return v.used > clock-room/8 || used != nil && v == used.Value }}
		for i := range 8 * room {
			clock++
			if other := tr.newest; i%3 == 0 && other != nil {
				for range r.IntN(room / 2) { // one that was used a while ago, or that goes
					other = cmp.Or(other.older, other)
				}
				if n := len(tr.going); n > 0 {
					other = tr.going[n-1].n
				}
				switch what := r.IntN(4); {
				case !tr.has(other) || other.Parent == nil:
				case what == 0:
					tr.Cut(other)
				case what == 1:
					tr.FindName(other, fmt.Sprint(i), fill).Value.used = clock
				default:
					other.Value.used = clock
				}
			}
			if n := len(tr.going); i%4 == 0 && n > 0 && tr.has(tr.going[n-1].n) {
				used = tr.going[n-1].n
			} else {
				used = tr.get(fmt.Sprintf("%d/%d", i%5, i), fill)
				used.Value.loss, used.Value.inUse = Much, r.IntN(50) == 0
			}
			if tr.Full(room) {
				tr.SweepSome(used, room, k)
			}
			for p := used; p != nil; p = p.Parent {
				p.Value.used = clock
			}
		}
		if n := len(tr.Nodes()); n != tr.Count() || n != len(names(&tr)) || n > room+2 {
			t.Errorf("seed %d: %d nodes, %d in order, but a count of %d; want %d at most", seed, n, len(names(&tr)), tr.Count(), room)
		}
		for _, wrong := range k.wrong {
			t.Errorf("seed %d: %s", seed, wrong)
		}
	}
}

// suspicious is a keeper that says what must not be forgotten.
type suspicious struct {
	keeper
	tree   *Tree[*thing]
	lately func(*thing) bool
	wrong  []string
}

func (s *suspicious) Forget(v *thing, most Loss) bool {
	ok := s.keeper.Forget(v, most)
	if ok && most > Nothing && s.lately(v) {
		s.wrong = append(s.wrong, v.path+" was used lately")
	}
	for n := s.tree.newest; ok && n != nil; n = n.older {
		if n.Parent != nil && n.Parent.Value == v {
			s.wrong = append(s.wrong, v.path+" has nodes below it")
			break
		}
	}
	return ok
}
