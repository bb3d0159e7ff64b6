// Api writes down what the packages for users export, in the words of GOROOT/api: a line for each name, in
// the files of directory api. The test beside it compares them with the code.
//
//	go run ./internal/tests/api
package main

import (
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/gopacer/pacer/internal/tests/load"
)

// texts are the files, by the directory of the module that each is about.
var texts = map[string]string{
	".":          "api/pacer.txt",
	"redisquota": "api/redisquota.txt",
	"pacerotel":  "api/pacerotel.txt",
	"filequota":  "api/filequota.txt",
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("api: ")
	l := declared()
	for dir, file := range texts {
		lines, err := api(l, dir, targets)
		if err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(filepath.FromSlash(file), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			log.Fatal("run it at the root of the repository: ", err)
		}
	}
}

// declared returns a Loader of what packages declare.
func declared() *load.Loader {
	l := load.NewLoader()
	l.Declared = true
	return l
}
