package redisquota

import (
	"embed"
	"strings"
)

//go:embed lua/*.lua
var sources embed.FS

// Script is the Lua script which a [Client] runs. It is always the same, so that a Client may
// prepare it once.
var Script = script()

func script() string {
	entries, err := sources.ReadDir("lua")
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	for _, e := range entries { // in the order of their names
		text, err := sources.ReadFile("lua/" + e.Name())
		if err != nil {
			panic(err)
		}
		b.Write(text)
	}
	return b.String()
}
