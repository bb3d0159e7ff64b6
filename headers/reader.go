package headers

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gopacer/pacer/headers/internal/name"
)

// A Reader reads responses. It may know dialects of the user's own beside those that the
// package knows. The zero Reader, and a nil one, know those of the package.
//
// The fields must not be changed, nor the Reader copied, after its first use. It is safe for
// concurrent use.
type Reader struct {
	// Dialects are the user's own. A header that one of them names says what it says there and
	// nothing else, and a limit that it states takes precedence over the same limit in other
	// words. If empty, there are none. They may name 256 headers at most, with those of Ignore.
	Dialects []Dialect

	// Ignore names headers that are not to be believed, whatever they seem to say, in upper or
	// lower case. If empty, there are none.
	Ignore []string

	once    sync.Once
	own     *name.Table // what Dialects and Ignore say; nil if that is nothing
	invalid []error
}

// Validate returns all mistakes in Dialects and in Ignore, joined by errors.Join: a name that no
// header can have, a header that has two meanings, a dialect that says nothing, or a number out of
// bounds. What is wrong is not read; all the rest is.
func (r *Reader) Validate() error {
	if r == nil {
		return nil
	}
	r.once.Do(r.compile)
	return errors.Join(r.invalid...)
}

// Parse is the function [Parse] with the Reader's dialects.
func (r *Reader) Parse(h http.Header, received time.Time) Facts {
	return r.Append(Facts{}, h, received)
}

// Append is Parse for callers that count allocations: it appends to the Limits of facts, and for the
// common dialects it allocates nothing if their capacity suffices. The rest of facts is that of h alone.
func (r *Reader) Append(facts Facts, h http.Header, received time.Time) Facts {
	facts.Limits, facts.Retry = read(facts.Limits, h, received, r.compiled(), nil)
	return facts
}

// Reads reports whether h has a header that may say something of limits or of when to retry.
// It costs a fraction of Append, for responses that have none, which most are.
func (r *Reader) Reads(h http.Header) bool {
	own := r.compiled()
	for key := range h {
		if lookUp(key, own) != nil {
			return true
		}
	}
	return false
}

// compiled returns what the Reader knows beside the package.
func (r *Reader) compiled() *name.Table {
	if r == nil {
		return nil
	}
	r.once.Do(r.compile)
	return r.own
}

// compile makes a table of what the fields say.
func (r *Reader) compile() {
	c := compiler{Reader: r, meanings: map[string]string{}}
	for i := range r.Dialects {
		d := r.Dialects[i].named()
		where := fmt.Sprintf("Dialects[%d]", i)
		if d.Name != "" {
			where += fmt.Sprintf(" (%.64q)", d.Name)
		}
		if err := d.Check(); err != nil {
			c.complain(where, err)
			continue
		}
		for _, p := range d.Parts() {
			c.add(where+"."+p.Field, p.Name, d.DescribeOwn(p, i))
		}
	}
	for i, ignored := range r.Ignore {
		c.add(fmt.Sprintf("Ignore[%d]", i), http.CanonicalHeaderKey(ignored), &name.Meaning{Role: name.Ignored})
	}
}

// compiler fills in what a Reader keeps to itself.
type compiler struct {
	*Reader
	meanings map[string]string // of the names so far, for error messages
	full     bool              // which is said once
}

// add adds what a header says.
func (c *compiler) add(where, key string, m *name.Meaning) {
	err := name.CheckKey(key)
	if before := c.meanings[key]; err == nil && before != "" {
		err = fmt.Errorf("%s is %s already", key, before)
	}
	if c.own == nil {
		c.own = &name.Table{}
	}
	if err == nil && !c.own.Add(key, m) {
		if c.full {
			return
		}
		c.full, err = true, fmt.Errorf("there are over %d headers", name.MaxTable)
	}
	if err != nil {
		c.complain(where, err)
		return
	}
	c.meanings[key] = where
}

// complain keeps a mistake.
func (c *compiler) complain(where string, err error) {
	c.invalid = append(c.invalid, fmt.Errorf("headers: %s: %w", where, err))
}
