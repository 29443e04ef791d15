//go:build !linux

package machine

import "errors"

func ownCPUs() ([]int, error) {
	return nil, errors.New("this system does not say where a program may run")
}

func moveThreads([]int) error {
	return errors.New("this system cannot pin threads")
}
