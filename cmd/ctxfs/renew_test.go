package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ctxfs/internal/supervise"
)

// A program is handed the state of its mount, however many files that holds, if it can take it.
func TestStateIsHandedOver(t *testing.T) {
	for _, n := range []int{0, 3, 20000} {
		st := supervise.State{Files: map[string]int{}, Socket: 7, Worker: 4711}
		for i := range n {
			st.Files[fmt.Sprintf("file%d", i)] = i
		}
		for _, byFile := range []bool{true, false} {
			text, f, err := writeState(st, byFile)
			if n == 20000 && !byFile {
				if err == nil || !strings.Contains(err.Error(), "20000 files") {
					t.Errorf("an older program: %v", err)
				}
				continue
			}
			if err != nil || len(text) > maxInEnv || (f != nil) != (n == 20000) {
				t.Fatalf("%d: %d bytes, %v, %v", n, len(text), f, err)
			}
			got, err := readState(text) // which closes f's descriptor
			if err != nil || !reflect.DeepEqual(got, st) {
				t.Errorf("%d: %d files, %v", n, len(got.Files), err)
			}
			if f != nil {
				_ = f.Close() // it was closed
			}
		}
	}
	if got, err := readState(`{"files":{"device":3},"socket":4,"worker":5,"later":6}`); err != nil || got.Files["device"] != 3 || got.Worker != 5 {
		t.Errorf("of another program: %+v, %v", got, err)
	}
	if _, err := readState("999999"); err == nil {
		t.Error("a descriptor that is not there")
	}
}

// A program that does not answer is not waited for.
func TestProgramWithoutAnAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ctxfs")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nsleep 300\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := canRenew(path); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("it is taken: %v", err)
	}
}
