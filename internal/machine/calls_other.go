//go:build !linux && !darwin

package machine

import "os"

// systemCall asks the running system for a fact that no file had.
func systemCall(key string) reading {
	variables := map[string]string{"arch": "PROCESSOR_ARCHITECTURE", "cpu_stepping": "PROCESSOR_IDENTIFIER"} // Windows
	if variable, known := variables[key]; known {
		return reading{os.Getenv(variable), variable}
	}
	if key == "hostname" {
		if name, err := os.Hostname(); err == nil {
			return reading{name, "hostname"}
		}
	}
	return reading{}
}
