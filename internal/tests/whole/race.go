//go:build race

package whole

const detector = true
