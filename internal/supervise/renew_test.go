package supervise

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// While a program is tried, the work goes on, and the mount may be asked to end. One that is put there meanwhile is tried too,
// and one that is not taken leaves all as it was.
func TestWorkGoesOnWhileAProgramIsTried(t *testing.T) {
	s, log := supervised(t, "obedient")
	quit, renew := make(chan os.Signal), make(chan os.Signal)
	s.Quit, s.Renew = quit, renew
	trying, tried, taken := make(chan bool), make(chan error), make(chan State)
	s.Try = func() error {
		trying <- true
		return <-tried
	}
	none := errors.New("no such program")
	s.Exec = func(st State) error {
		taken <- st
		return none
	}
	s.Ready = func() {
		go func() {
			renew <- syscall.SIGUSR2
			<-trying
			renew <- syscall.SIGUSR2
			tried <- nil
			<-trying // the second
			tried <- nil
			if st := <-taken; st.Worker == 0 || st.Files[Device] == 0 || len(st.Files) != 4 {
				t.Errorf("it hands over %+v", st)
			}
			renew <- syscall.SIGUSR2
			<-trying
			quit <- syscall.SIGTERM // and this one hangs
		}()
	}
	if err := runs(t, s, State{}); err != nil {
		t.Errorf("%v\n%v", err, *log)
	}
	if !strings.Contains(strings.Join(*log, ""), none.Error()) {
		t.Errorf("it says %v", *log)
	}
}
