package pack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// sideLog is a log of turns: a question, a call of a child agent, the child's records between it and its result, an answer. sides is how
// many records of the child each turn has. It returns the log, and which of its records are the child's.
func sideLog(t testing.TB, turns, sides int) (log []byte, side map[int]bool) {
	var list []msg
	side = map[int]bool{}
	file := strings.Repeat("a line of the file\n", 20)
	add := func(m msg, isSide bool) {
		if isSide {
			m["sidechain"] = true
			side[len(list)+1] = true
		}
		list = append(list, m)
	}
	call := func(id, name string, input msg) msg {
		return msg{"role": "assistant", "content": []msg{{"type": "tool_use", "id": id, "name": name, "input": input}}}
	}
	result := func(id, text string) msg {
		return msg{"role": "tool", "content": []msg{{"type": "tool_result", "tool_use_id": id, "content": text}}}
	}
	for i := range turns {
		add(text("user", fmt.Sprintf("Question %d about the zebra", i)), false)
		add(call(fmt.Sprint("r", i), "Read", msg{"file_path": "/x.go"}), false)
		add(result(fmt.Sprint("r", i), fmt.Sprint(file, i)), false)
		add(call(fmt.Sprint("t", i), "Task", msg{"prompt": "look"}), false)
		for k := range sides / 2 {
			id := fmt.Sprint("s", i, "-", k)
			add(call(id, "Read", msg{"file_path": "/x.go"}), true)
			add(result(id, fmt.Sprint(file, "of the child ", i, " giraffe ", k)), true)
		}
		add(result(fmt.Sprint("t", i), fmt.Sprint("the child found thing ", i)), false)
		add(text("assistant", fmt.Sprint("Answer ", i, " ", strings.Repeat("with words ", 30))), false)
	}
	return logOf(t, list...), side
}

// shownIn returns the records that a pack shows.
func shownIn(t testing.TB, p *Pack) map[int]bool {
	t.Helper()
	in := map[int]bool{}
	for _, it := range p.Items {
		if it.Source != messagesFile {
			continue
		}
		r, err := swap.ParseRange(it.Range)
		if err != nil {
			t.Fatal(err)
		}
		for n := r.A; n <= r.B; n++ {
			in[n] = true
		}
	}
	return in
}

// TestSideChain builds packs of a log in which most records are a child agent's: the window is the parent's, as if they were
// not there, and each is listed as omitted.
func TestSideChain(t *testing.T) {
	log, side := sideLog(t, 20, 18)
	bare, _ := sideLog(t, 20, 0)
	w, h := fold(t, log)
	w0, h0 := fold(t, bare)
	for _, budget := range []int{1000, 2000, 4000, 8000, 16000, 32000, 128000} {
		in := Input{Session: "s", Agent: "a", Budget: budget, History: h}
		p := buildIn(t, w, in)
		hold(t, w, in, p)
		got, want := shownIn(t, p), shownIn(t, build(t, w0, h0, budget))
		sides := 0
		for n := range got {
			if side[n] {
				sides++
			}
		}
		if sides > 0 {
			t.Errorf("budget %d: %d of %d records are the child's", budget, sides, len(got))
		}
		if len(got) < len(want)-3 { // the numbers in the markers are longer
			t.Errorf("budget %d: %d records of the parent, %d without the child's", budget, len(got), len(want))
		}
	}
	if n := len(shownIn(t, build(t, w, h, 32000))); n != 120 {
		t.Errorf("%d of the parent's 120 records, where all fit", n)
	}
}

// TestSideChainAsked brings records of a child agent in when they are pinned, or match a question that was given, and not when
// they match the latest words of the user.
func TestSideChainAsked(t *testing.T) {
	log, side := sideLog(t, 20, 18)
	log = append(log, logOf(t, text("user", "What about the giraffe of the child?"))...)
	w, h := fold(t, log)
	count := func(in Input) (n int) {
		t.Helper()
		in.Session, in.Agent, in.Budget, in.History = "s", "a", 8000, h
		p := buildIn(t, w, in)
		hold(t, w, in, p)
		for k := range shownIn(t, p) {
			if side[k] {
				n++
			}
		}
		return n
	}
	if n := count(Input{}); n != 0 {
		t.Errorf("the user's words brought %d in", n)
	}
	if n := count(Input{Query: "giraffe of the child"}); n == 0 {
		t.Error("a question brought none in")
	}
	if n := count(Input{Pinned: []File{{"context/pinned/a.ref", []byte("messages:5-6\n")}}}); n != 2 {
		t.Errorf("two are pinned, %d are in", n)
	}
}

// TestSideChainOwn packs a log that holds a child agent's records only: it is the child's.
func TestSideChainOwn(t *testing.T) {
	var log []byte
	for i := range 20 {
		log = append(log, logOf(t, msg{"role": "assistant", "sidechain": true, "content": fmt.Sprint("word ", i)})...)
	}
	w, h := fold(t, log)
	if n := len(shownIn(t, build(t, w, h, 8000))); n != 20 {
		t.Errorf("%d of 20 records", n)
	}
}

// TestSideChainReal packs real sessions that have side chains, at several points of their growth.
func TestSideChainReal(t *testing.T) {
	found := 0
	for _, s := range sessions(t) {
		if !bytes.Contains(s.Log, []byte(`"sidechain":true`)) || testing.Short() && found > 3 {
			continue
		}
		h := record.NewMemory(s.Log)
		w := NewWorkset(counter(t))
		side := 0
		for n := 1; n <= h.Len(); n++ {
			add(t, w, h, n)
			if w.isSide(n) {
				side++
			}
			if n != h.Len() && n%max(h.Len()/3, 1) != 0 {
				continue
			}
			for _, budget := range []int{2000, 32000} {
				in := Input{Session: s.Name, Agent: "a", Budget: budget, History: h}
				p := buildIn(t, w, in)
				hold(t, w, in, p)
				for k := range shownIn(t, p) {
					if w.isSide(k) {
						t.Fatalf("%s, %d records, budget %d: record %d of a side chain is in", s.Name, n, budget, k)
					}
				}
			}
		}
		if side > 0 {
			found++
		}
	}
	if found == 0 {
		t.Log("SKIP: there is no real session with side chains")
	}
}

// TestManyChildren packs a session with the results of many children: together they take at most a quarter, and each is accounted for.
func TestManyChildren(t *testing.T) {
	log, _ := sideLog(t, 30, 0)
	w, h := fold(t, log)
	for _, n := range []int{1, 2, 5, 60} {
		in := Input{Session: "s", Agent: "a", Budget: 4000, History: h}
		for i := range n {
			in.Children = append(in.Children, Child{ID: fmt.Sprintf("c%02d", i), Status: "done", Result: bytes.Repeat([]byte("The child found a thing.\n"), 100)})
		}
		p := buildIn(t, w, in)
		hold(t, w, in, p)
		tokens, items := 0, 0
		for _, it := range p.Items {
			if it.Kind == kindChild {
				tokens += it.Tokens
				items++
			}
		}
		if tokens > 1000 || tokens < 400 || items < min(n, 5) {
			t.Errorf("%d children: %d items, %d tokens", n, items, tokens)
		}
	}
}
