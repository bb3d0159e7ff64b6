package redisquota

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// TestScale: d·a/b, rounded up, is exact where the product is not.
func TestScale(t *testing.T) {
	m := miniredis.RunT(t)
	c := redis.NewClient(&redis.Options{Addr: m.Addr()})
	defer c.Close()
	source, err := sources.ReadFile("lua/01_numbers.lua")
	if err != nil {
		t.Fatal(err)
	}
	const ages = 50 * 365 * 86400 * 1_000_000
	cases := [][3]int64{
		{0, 5, 3},
		{1, 1, 1},
		{1, 1, 1 << 51},
		{10, 1, 3},
		{9, 1, 3},
		{1 << 52, 1 << 50, 1 << 51},
		{86_400_000_000, 104_251, 1_000_003},
		{ages, 1 << 50, 1 << 50},
		{ages, 1<<51 + 1, 1 << 51},
		{ages, 2, 1},
		{1<<53 - 1, 1, 2},
		{1<<53 - 1, 1, 1 << 51},
		{94906267, 94906265, 94906266},
		{94906267, 94906267, 94906266},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		d, a, b := r.Int64N(1<<r.IntN(53)+1), r.Int64N(1<<r.IntN(51)+1), r.Int64N(1<<r.IntN(51)+1)+1
		cases = append(cases, [3]int64{min(d, ages), a, b})
	}
	var args []any
	for _, n := range cases {
		args = append(args, n[0], n[1], n[2])
	}
	all := `
local out = {}
for i = 1, #ARGV, 3 do
  out[#out + 1] = whole(scale(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])))
end
return out`
	got, err := c.Eval(t.Context(), string(source)+all, nil, args...).StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	large := 0
	for i, n := range cases {
		product := new(big.Int).Mul(big.NewInt(n[0]), big.NewInt(n[1]))
		if product.BitLen() > 53 {
			large++
		}
		want := product.Add(product, big.NewInt(n[2]-1))
		want.Div(want, big.NewInt(n[2]))
		if most := big.NewInt(ages); want.Cmp(most) > 0 {
			want = most
		}
		if got[i] != want.String() {
			t.Errorf("scale(%d, %d, %d) is %s, want %s", n[0], n[1], n[2], got[i], want)
		}
	}
	if large < 100 {
		t.Errorf("%d products are above 2^53, want some more", large)
	}
}
