// Package contract runs pacer, and what a program would otherwise retry with, through
// what http.RoundTripper asks of them and through what goes wrong when requests are sent
// again. Each answer is what a server on loopback, or the caller, has seen.
//
//	go run ./cmd/contract              # the table
//	go run ./cmd/contract -only POST   # some rows
//
// A [Question] is a row: something that every [Peer] does to a server of its own. Where a
// rule says what is right, that is the question's Rule, and answers that break it are
// printed bold.
package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Question is something that goes wrong at times.
type Question struct {
	Name  string
	Rule  string   // says what is right, and where it stands; empty if nothing is wrong
	Right []string // the answers that keep to the rule

	// ask has the peer do it and returns what was seen, in few words. It closes what it
	// opens.
	ask func(ctx context.Context, p Peer) (string, error)
}

// All returns all questions: what is sent again, bodies, answers, waits, and what concerns
// others.
func All() []Question {
	return slices.Concat(again(), bodies(), answers(), waits(), others())
}

// Answer is what was seen of a peer.
type Answer struct {
	Question Question
	Peer     Peer
	Text     string
}

// Wrong reports whether the answer breaks the question's rule.
func (a Answer) Wrong() bool {
	return a.Question.Rule != "" && !slices.Contains(a.Question.Right, a.Text)
}

// patience is how long a peer may take for a question. None waits for longer than 2 s if it
// does as its server says.
const patience = 6 * time.Second

// Run asks every peer every question, and parallel of them at the same time. The answers are
// in the order of questions, and of peers in each. Errors are those of the servers
// and of this package: what a peer returns is an answer.
func Run(ctx context.Context, questions []Question, peers []Peer, parallel int) ([]Answer, error) {
	all := make([]Answer, len(questions)*len(peers))
	errs := make([]error, len(all))
	running := make(chan struct{}, max(parallel, 1))
	var wg sync.WaitGroup
	for i := range all {
		all[i] = Answer{Question: questions[i/len(peers)], Peer: peers[i%len(peers)]}
		running <- struct{}{}
		wg.Go(func() {
			defer func() { <-running }()
			if all[i].Text, errs[i] = all[i].ask(ctx); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %s: %w", all[i].Peer.Name, all[i].Question.Name, errs[i])
			}
		})
	}
	wg.Wait()
	return all, errors.Join(errs...)
}

func (a Answer) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return a.Question.ask(ctx, a.Peer)
}
