/** An answer that says it is longer than it is, and so breaks off behind the word "half". */
export function halfAnswer(): Response {
  return new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("half"));
        controller.close();
      },
    }),
    { headers: { "content-length": "1000" } },
  );
}
