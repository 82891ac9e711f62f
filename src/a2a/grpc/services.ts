/** Full names of the gRPC services of A2A: `lf.a2a.v1` is A2A 1, `a2a.v1` is A2A 0.3. */
export const A2A_SERVICES: readonly string[] = ['lf.a2a.v1.A2AService', 'a2a.v1.A2AService']
