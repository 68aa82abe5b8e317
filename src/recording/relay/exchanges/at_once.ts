/** Does at once all of some work that can be done a little at a time. */
export function atOnce<Made>(steps: Iterator<number, Made>): Made {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
