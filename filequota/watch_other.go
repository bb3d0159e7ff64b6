//go:build !linux

package filequota

func watch(string) watcher { return newPoller() }
