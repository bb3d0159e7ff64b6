//go:build !amd64

package callgrind

const canToggle = false

func toggle() {}
