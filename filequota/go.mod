module github.com/gopacer/pacer/filequota

go 1.25.0

require (
	github.com/gopacer/pacer v0.0.0
	golang.org/x/sys v0.47.0
)

require golang.org/x/time v0.14.0 // indirect

replace github.com/gopacer/pacer => ../
