/** Policies of `extensions.from`: a directory with one policy in each YAML file, beside the built-in catalogue. */
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileErrorText } from './describe.js'
import { didYouMean, dotted, formatValue } from './diagnostics.js'
import type { Diagnostic, Path, PathProblem } from './diagnostics.js'
import type { PolicyConfig } from './model/model.js'
import type { ReadPolicy } from './policy-file.js'
import { POLICY_SUFFIX, TESTS_SUFFIX, readPolicyFile } from './policy-file.js'
import { FORMATS } from './schema/formats.js'
import { problemAt, items, mapping } from './yaml/values.js'

const MAX_FILES = 1_000
const AT: Path = ['extensions', 'from']

export interface PolicyDirectory {
  /** Absolute path; null when the configuration names no directory. */
  readonly path: string | null
  readonly policies: Readonly<Record<string, PolicyConfig>>
  /** Absolute paths of the directory and of all files read, also of those with problems. */
  readonly files: readonly string[]
  /** Problems of `extensions.from` itself. */
  readonly problems: readonly PathProblem[]
  /** Problems of the files, with their positions in them. */
  readonly found: readonly Diagnostic[]
}

const NONE: PolicyDirectory = { path: null, policies: {}, files: [], problems: [], found: [] }

/**
 * Reads the directory that `extensions.from` names. Every `NAME.yaml` is the policy NAME; `NAME.test.yaml` is its tests.
 * @param extensions the file's `extensions`, which may still be wrong
 * @param builtIn names of the built-in catalogue. A policy of the directory replaces one of them only if `replace` lists it
 */
export function readPolicyDirectory (
  extensions: unknown,
  baseDir: string,
  builtIn: readonly string[],
  checks: readonly ((value: unknown, baseDir: string) => readonly PathProblem[])[]
): PolicyDirectory {
  const { from } = mapping(extensions)
  const named = typeof from === 'string' ? from : mapping(from).directory
  if (typeof named !== 'string' || named === '' || named.includes('\0')) return NONE
  const path = resolve(baseDir, named)
  const at: Path = typeof from === 'string' ? AT : [...AT, 'directory']
  const rejected = (message: string, hint?: string): PolicyDirectory =>
    ({ ...NONE, path, files: [path], problems: [problemAt(at, message, hint)] })
  let names: string[]
  try {
    names = readdirSync(path).filter(name => name.endsWith(POLICY_SUFFIX) && !name.endsWith(TESTS_SUFFIX)).toSorted()
  } catch (error) {
    return rejected(
      `${dotted(at)}: cannot read ${formatValue(named)}: ${fileErrorText(error)}`, 'paths are relative to the configuration file'
    )
  }
  if (names.length === 0) {
    return rejected(
    `${dotted(at)}: ${formatValue(named)} contains no *.yaml`, 'each file holds one policy, under its name'
    )
  }
  if (names.length > MAX_FILES) return rejected(`${dotted(at)}: ${formatValue(named)} contains more than ${MAX_FILES} policies`)
  const problems: PathProblem[] = []
  const read = new Map<string, ReadPolicy>()
  for (const file of names) {
    const name = file.slice(0, -POLICY_SUFFIX.length)
    if (FORMATS.name(name) === null) read.set(name, readPolicyFile(join(path, file)))
    else {
      problems.push(problemAt(
        at, `${dotted(at)}: the file ${formatValue(file)} must have the name of its policy: 1 to 63 of a-z, 0-9 and "-"`
      ))
    }
  }
  problems.push(...clashes([...read.keys()], items(mapping(from).replace), builtIn, named, at))
  const policyNames = new Set([...builtIn, ...read.keys(), ...Object.keys(mapping(extensions))])
  const policyProblems = [...read].flatMap(([name, readPolicy]) => {
    if (readPolicy.problems.length > 0) return readPolicy.problems
    const further = checks.flatMap(check => check({ extensions: { [name]: readPolicy.policy }, agents: [] }, path))
      .map(({ path: [, , ...steps], ...problem }) => ({ ...problem, path: steps }))
    return [...foreign(readPolicy, policyNames), ...further].map(problem => readPolicy.place(problem))
  })
  policyProblems.push(...cycles(read))
  return {
    path,
    policies: Object.fromEntries([...read].map(([name, { policy }]) => [name, policy as PolicyConfig])),
    files: [path, ...names.map(name => join(path, name)), ...[...read.values()].flatMap(({ files }) => files)],
    problems,
    found: policyProblems
  }
}

/** A policy that takes the name of a built-in one needs the word of the configuration, because agents name policies by name only. */
function clashes (
  names: readonly string[],
  replace: readonly unknown[],
  builtIn: readonly string[],
  named: string,
  at: Path
): PathProblem[] {
  const taken = names.filter(name => builtIn.includes(name) && !replace.includes(name)).map(name => problemAt(
    at,
    `${dotted(at)}: ${formatValue(join(named, name + POLICY_SUFFIX))} has the name of a policy of the built-in catalogue`,
    `write from: {directory: ${named}, replace: [${name}]} to use it instead of the built-in one, or rename the file`
  ))
  const idle = replace.flatMap((name, index) => {
    if (typeof name !== 'string' || (names.includes(name) && builtIn.includes(name))) return []
    const place: Path = [...AT, 'replace', index]
    return [
      builtIn.includes(name)
        ? problemAt(place, `${dotted(place)}: ${formatValue(named)} has no policy ${formatValue(name)}`, didYouMean(name, names))
        : problemAt(
          place,
          `${dotted(place)}: the built-in catalogue has no policy ${formatValue(name)}`,
          'only policies that replace a built-in one are listed here'
        )
    ]
  })
  return [...taken, ...idle]
}

/** Finds what a policy of a directory cannot contain: secrets and policy servers of the configuration, and unknown policies. */
function foreign ({ policy }: ReadPolicy, names: ReadonlySet<string>): PathProblem[] {
  const { inject, request, response, activation } = mapping(policy)
  const here = 'in a policy of a directory; write the key in extensions of the configuration, which may change this policy'
  const secrets = items(inject).flatMap((injection, index) => mapping(injection).fromSecret === undefined
    ? []
    : [problemAt(['inject', index, 'fromSecret'], `inject[${index}].fromSecret cannot stand ${here}`, undefined, 'key')])
  const servers = Object.entries({ request, response }).flatMap(([key, rules]) =>
    items(rules).flatMap((rule, index) => mapping(rule).external === undefined
      ? []
      : [problemAt([key, index, 'external'], `${key}[${index}].external cannot stand ${here}`, undefined, 'key')])
  )
  const unknown = items(mapping(activation).requires).flatMap((name, index) => typeof name !== 'string' || names.has(name)
    ? []
    : [problemAt(['activation', 'requires', index], `no policy is named ${formatValue(name)}`, didYouMean(name, [...names]))])
  return [...secrets, ...servers, ...unknown]
}

/** Policies of the directory that require each other. */
function cycles (read: ReadonlyMap<string, ReadPolicy>): Diagnostic[] {
  const next = (name: string): string[] =>
    items(mapping(mapping(read.get(name)?.policy).activation).requires).filter(requirement => typeof requirement === 'string')
  return [...read].flatMap(([name, readPolicy]) => {
    const names = new Set<string>()
    const open = next(name)
    for (let other = open.pop(); other !== undefined; other = open.pop()) {
      if (other === name) {
        return [
          readPolicy.place(problemAt(['activation', 'requires'], `policy ${formatValue(name)} requires itself, also through others`, 'remove it'))
        ]
      }
      if (names.has(other)) continue
      names.add(other)
      open.push(...next(other))
    }
    return []
  })
}
