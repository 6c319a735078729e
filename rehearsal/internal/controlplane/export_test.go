package controlplane

// PID returns the process of a component.
func (c *ControlPlane) PID(component string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[component].pid
}
