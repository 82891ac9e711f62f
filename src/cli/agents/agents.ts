/** `a2a-gateway agents lock` and `a2a-gateway agents diff`: agree on the cards of agents, and see what has changed since. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, resolve } from 'node:path'
import type { CardDifference } from '#a2a/card/loaded-cards.js'
import type { TextFinding } from '#a2a/card/texts.js'
import { visible } from '#a2a/fields.js'
import { LockFileError, lockText, readLock } from '#agents/lock/lock-file.js'
import type { LockEntry, ReadLock } from '#agents/lock/lock-file.js'
import { fileErrorText } from '#config/describe.js'
import { didYouMean } from '#config/diagnostics.js'
import type { Diagnostic } from '#config/diagnostics.js'
import { overridesFromEnvironment } from '#config/load.js'
import { LOCK_FILE } from '#config/model/card-model.js'
import type { Config } from '#config/model/model.js'
import { lookAtSources } from '../live-sources.js'
import { readConfiguration } from '#offline/configuration.js'
import { LOADING_CARDS, withProgress } from '../command-line/progress.js'
import { JSON_FORMAT } from '../output.js'
import type { Output } from '../output.js'
import { unusableConfiguration } from '../reports/configuration-problems.js'
import { reportFailure, usageProblem } from '../reports/failure.js'
import type { Compared } from './compare.js'
import { compareCards } from './compare.js'

export interface AgentsArguments {
  /** `lock` or `diff`. */
  readonly action: string | undefined
  readonly config: string | null
  /** Names of agents. Empty: all. */
  readonly agents: readonly string[]
  /** Who agrees. Default: the user of the CI system or of the machine. */
  readonly by?: string | undefined
  readonly json?: boolean
  readonly env: NodeJS.ProcessEnv
}

const DONE = 0
const DIFFERENT = 1
const UNUSABLE = 2
/** Longest text of a card in a line of the report. */
const MAX_CARD_TEXT_CHARS = 1_000

/**
 * Runs the command.
 * @returns exit code. lock: 0 written, or nothing has changed; 1 a card cannot be fetched, its entry stays. diff: 0 all cards are as
 * agreed; 1 a card differs, or is new. Both: 2 for wrong arguments, files that cannot be used and, for diff, cards that cannot be fetched
 */
export async function runAgents (args: AgentsArguments, io: Output): Promise<number> {
  const { action, config: file, json = false, env } = args
  const fail = (...problems: Diagnostic[]): number => {
    reportFailure('agents', problems, json, io)
    return UNUSABLE
  }
  if (
    action !== 'lock' &&
    action !== 'diff'
  ) return fail(usageProblem(`${action === undefined ? 'name an action' : `there is no action "${action}"`}: lock or diff`))
  if (file === null) {
    return fail(
      usageProblem(`there is no ./gateway.yaml: name a configuration with --config; ${LOCK_FILE} stands beside it`)
    )
  }
  const loaded = readConfiguration({ file, env, overrides: overridesFromEnvironment(env), secrets: false })
  if (!loaded.ok) return fail(...unusableConfiguration(file, loaded).problems)
  // An entry of a source can only be pinned after somebody has seen the agent.
  const sources = await lookAtSources(file, loaded.config, env, true)
  if (sources?.readable === false) return fail(...sources.findings)
  const config = sources?.config ?? loaded.config
  const names = config.agents.map(({ name }) => name)
  const unknown = args.agents.find(name => !names.includes(name))
  if (unknown !== undefined) {
    return fail(
      usageProblem(`there is no agent "${unknown}"; ${didYouMean(unknown, names) ?? `agents are ${names.join(', ')}`}`)
    )
  }
  const path = resolve(dirname(file), LOCK_FILE)
  let lock: ReadLock
  try {
    lock = readLock(path)
  } catch (error) {
    if (!(error instanceof LockFileError)) throw error
    return fail({ file: '', line: 0, col: 0, message: error.message, code: error.code })
  }
  const chosen = config.agents.filter(({ name }) => args.agents.length === 0 || args.agents.includes(name))
  const compared = await withProgress(LOADING_CARDS, compareCards(chosen, config, lock, env))
  return action === 'diff'
    ? diff(compared, { path, lock, config, json }, io)
    : write(compared, { path, lock, json, by: args.by ?? nameIn(env) }, io)
}

interface Written { readonly path: string, readonly lock: ReadLock, readonly json: boolean, readonly by: string }

function write (compared: readonly Compared[], { path, lock, json, by }: Written, io: Output): number {
  const agents: Record<string, LockEntry> = { ...lock.agents }
  const keptTexts = new Map(lock.texts)
  const pinnedAt = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const outcomes = compared.map(entry => {
    if (entry.state === 'failed') return { name: entry.name, outcome: 'failed', problem: entry.problem }
    const { agreed, live, differences, texts } = entry
    if (entry.state === 'same' && agreed?.url === live.url && agreed.card !== undefined) return { name: entry.name, outcome: 'unchanged' }
    agents[entry.name] = { ...live, pinnedAt, pinnedBy: by }
    keptTexts.delete(entry.name)
    return { name: entry.name, outcome: entry.state === 'new' ? 'added' : 'updated', differences, texts }
  })
  const changed = outcomes.some(({ outcome }) => outcome === 'added' || outcome === 'updated')
  if (changed) {
    try {
      replaceFile(path, lockText(agents, keptTexts))
    } catch (error) {
      reportFailure(
        'agents', [{ file: path, line: 0, col: 0, message: `cannot be written: ${fileErrorText(error)}`, code: 'A2AGW_ERR_OUTPUT' }], json,
        io
      )
      return UNUSABLE
    }
  }
  const failed = outcomes.some(({ outcome }) => outcome === 'failed')
  if (json) io.out(JSON.stringify({ format: JSON_FORMAT, ok: !failed, file: path, written: changed, agents: outcomes }, null, 2))
  else {
    for (const outcome of outcomes) {
      io.out(`${outcome.name}: ` +
        `${outcome.outcome}${outcome.problem === undefined ? '' : `: ${visible(outcome.problem, MAX_CARD_TEXT_CHARS)}`}`)
      for (const line of linesOf(outcome.differences ?? [], outcome.texts ?? [])) io.out(line)
    }
    io.err(changed ? `wrote ${path}; review the change, and commit the file` : `${path} is unchanged`)
  }
  return failed ? DIFFERENT : DONE
}

interface DiffContext { readonly path: string, readonly lock: ReadLock, readonly config: Config, readonly json: boolean }

function diff (compared: readonly Compared[], { path, lock, config, json }: DiffContext, io: Output): number {
  const failed = compared.some(({ state }) => state === 'failed')
  const different = compared.filter(({ state }) => state === 'changed' || state === 'new')
  const others = Object.keys(lock.agents).filter(name => !config.agents.some(agent => agent.name === name))
  if (json) {
    const agents = compared.map(entry => entry.state === 'failed'
      ? { name: entry.name, state: entry.state, problem: entry.problem }
      : {
          name: entry.name,
          state: entry.state,
          url: entry.live.url,
          digest: { agreed: entry.agreed?.digest ?? null, live: entry.live.digest },
          requires: { agreed: entry.agreed?.requires ?? null, live: entry.live.requires },
          differences: entry.differences,
          texts: entry.texts
        })
    const ok = !failed && different.length === 0
    io.out(JSON.stringify({ format: JSON_FORMAT, ok, file: path, agents, withoutAgent: others }, null, 2))
  } else {
    for (const entry of compared) {
      const { name, state } = entry
      if (state === 'failed') {
        io.out(`${name}: failed: ${visible(entry.problem, MAX_CARD_TEXT_CHARS)}`)
        continue
      }
      io.out(`${name}: ${state}${state === 'new' && entry.live.requires.length > 0 ? `; requires ${entry.live.requires.map(uri => visible(uri, MAX_CARD_TEXT_CHARS)).join(', ')}` : ''}`)
      for (const line of linesOf(entry.differences, entry.texts)) io.out(line)
      if (
        state === 'changed' &&
        entry.differences.length === 0 &&
        entry.agreed?.card === undefined
      ) io.out('  the lock file has only the digest of the agreed card, so the differences are not known')
    }
    for (const name of others) {
      io.err(
      `note: ${LOCK_FILE} has an entry for ${visible(name, MAX_CARD_TEXT_CHARS)}, which is not an agent of the configuration file`
      )
    }
    if (different.length > 0) {
      io.err(
      `${different.length} of ${compared.length} cards are not as agreed; a2a-gateway agents lock agrees on the current cards`
      )
    }
  }
  return failed ? UNUSABLE : different.length > 0 ? DIFFERENT : DONE
}

function linesOf (differences: readonly CardDifference[], texts: readonly TextFinding[]): string[] {
  return [
    ...differences.map(({ effect, path, message }) => `  ${effect.padEnd(7)}  ${visible(path, MAX_CARD_TEXT_CHARS)}: ${message}`),
    ...texts.map(({ message, hint }) => `  text     ${visible(message, MAX_CARD_TEXT_CHARS)} (${hint})`)
  ]
}

/** Writes the whole file or nothing. */
function replaceFile (path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    writeFileSync(temporary, text)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** The person who agrees: the user of the CI system, else of the machine. */
function nameIn ({ GITHUB_ACTOR, GITLAB_USER_LOGIN, USER }: NodeJS.ProcessEnv): string {
  const named = GITHUB_ACTOR ?? GITLAB_USER_LOGIN ?? USER
  if (named !== undefined && named !== '') return named
  try {
    return userInfo().username
  } catch {
    // A container may run with a user id that has no name.
    return 'unknown'
  }
}
