//go:build unix && !linux

package main

import "errors"

func mount(string) (func(), error) { return nil, errors.ErrUnsupported }
