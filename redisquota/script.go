package redisquota

import (
	"embed"
	"strings"
)

//go:embed lua/*.lua
var sources embed.FS

var script = readScript()

// Script returns the Lua script that a [Client] runs: always the same, so that a Client prepares it once.
func Script() string { return script }

func readScript() string {
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
